"""The extension lwsvm._core is built by CMake, in build/python, or found in the build folder that LWSVM_BUILD names.

With ccache, where it is installed; on as many cores as CMAKE_BUILD_PARALLEL_LEVEL says (default: all).
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent


class CMakeBuild(build_ext):
    def build_extension(self, ext):
        given = os.environ.get("LWSVM_BUILD")
        folder = Path(given).resolve() if given else ROOT / "build" / "python"
        if not given:
            self._configure(folder)
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 2))
        subprocess.run(["cmake", "--build", folder, "--target", "lwsvm_python", "-j", jobs], check=True)
        built = folder / "python" / "lwsvm" / Path(self.get_ext_filename("_core")).name
        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built, target)
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-unneeded", target], check=True)

    def _configure(self, folder):
        options = {
            "CMAKE_BUILD_TYPE": "Release",
            "CMAKE_UNITY_BUILD": "ON",
            "CMAKE_UNITY_BUILD_BATCH_SIZE": "0",
            "LWSVM_PYTHON": "ON",
            "LWSVM_TESTS": "OFF",
            "LWSVM_BENCH": "OFF",
            "LWSVM_REPORT": "OFF",
            "LWSVM_INSTALL": "OFF",
            "LWSVM_WERROR": "OFF",
            "Python_EXECUTABLE": sys.executable,
        }
        if shutil.which("ccache"):
            options["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        settings = [f"-D{name}={value}" for name, value in options.items()]
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, *generator, *settings], check=True)


version = re.search(r"project\(lwsvm VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
setup(version=version, ext_modules=[Extension("lwsvm._core", sources=[])], cmdclass={"build_ext": CMakeBuild})

"""setuptools, without a download.

pip builds in an environment of its own that has nothing but what `requires` names, which it would fetch. Here that is nothing:
the setuptools and wheel that the system has are shown to it instead, and only what the system has not is asked for.
"""

import importlib.util
import site
import sys
import sysconfig

for folder in (sysconfig.get_path("purelib"), *site.getsitepackages(), "/usr/lib/python3/dist-packages"):
    if folder not in sys.path:
        sys.path.append(folder)


def _missing(*modules):
    return [module for module in modules if importlib.util.find_spec(module) is None]


if not _missing("setuptools"):
    from setuptools.build_meta import *  # noqa: F403
    from setuptools.build_meta import build_sdist, build_wheel, prepare_metadata_for_build_wheel  # noqa: F401


def get_requires_for_build_wheel(config_settings=None):
    return _missing("setuptools", "wheel")


def get_requires_for_build_sdist(config_settings=None):
    return _missing("setuptools")


def get_requires_for_build_editable(config_settings=None):
    return _missing("setuptools", "wheel")

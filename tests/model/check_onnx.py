# The ONNX project's own checker on the files given: their form, their operators, and full shape inference.
import sys

import onnx

for path in sys.argv[1:]:
    try:
        onnx.checker.check_model(path, full_check=True)
        model = onnx.load(path)
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        # What we declare is what the operators give.
        assert inferred.graph.output[0] == model.graph.output[0], "the declared output shape is not the inferred one"
    except Exception as error:
        sys.exit(f"{path}: {error}")

// Cases of the ONNX project's operator tests that lwsvm does not take, and why (docs/onnx.md repeats it).
#pragma once

namespace lwsvm {

struct SkippedCase {
  const char* pattern;  // * is anything; name:K is output K alone
  const char* reason;
};

constexpr const char* kNarrowType =
    "a type that no network computes with: of integers int32 and int64 are known (for shapes), of reals "
    "float16, float32 and float64";
constexpr const char* kNotAnImage =
    "data of three dimensions: convolutions, pools and batch normalisation are those of images and rows";
constexpr const char* kTraining = "training mode: the file must be exported for inference";
constexpr const char* kSecondOutput = "a second output (a mask, indices) that no layer reads";
constexpr const char* kEmpty = "a value without elements";
constexpr const char* kPadMode = "Pad by reflection or by the edge: only constants are supported";
constexpr const char* kPower =
    "Pow with an exponent for every element, or of integers: one number is supported";
constexpr const char* kCubic = "Resize in mode cubic, or of a part of the image";
constexpr const char* kNoTensor = "a sequence or an optional, not a tensor";

constexpr SkippedCase kSkipped[] = {
    {"*_int8*", kNarrowType},
    {"*_uint8", kNarrowType},
    {"*_int16", kNarrowType},
    {"*_uint16", kNarrowType},
    {"*_uint32", kNarrowType},
    {"*_uint64", kNarrowType},
    {"*BFLOAT16*", kNarrowType},
    {"*STRING*", kNarrowType},
    {"test_*pool_3d*", kNotAnImage},
    {"test_AvgPool3d*", kNotAnImage},
    {"test_MaxPool3d*", kNotAnImage},
    {"test_Conv3d*", kNotAnImage},
    {"test_BatchNorm3d*", kNotAnImage},
    {"test_convtranspose_3d", kNotAnImage},
    {"test_batchnorm_*_training_mode*", kTraining},
    {"test_training_dropout*", kTraining},
    {"test_dropout_default_mask*:1", kSecondOutput},
    {"test_maxpool_with_argmax*:1", kSecondOutput},
    {"test_layer_normalization*:1", kSecondOutput},
    {"test_layer_normalization*:2", kSecondOutput},
    {"test_constantofshape_int_shape_zero", kEmpty},
    {"test_reshape_allowzero_reordered", kEmpty},
    {"test_slice_start_out_of_bounds", kEmpty},
    {"test_split_zero_size_splits*", kEmpty},
    {"test_edge_pad", kPadMode},
    {"test_reflect_pad", kPadMode},
    {"test_ReflectionPad2d", kPadMode},
    {"test_ReplicationPad2d", kPadMode},
    {"test_operator_pad", kPadMode},
    {"test_pow", kPower},
    {"test_pow_bcast_array", kPower},
    {"test_pow_example", kPower},
    {"test_pow_types_*", kPower},
    {"test_operator_pow", kPower},
    {"test_resize_*_cubic*", kCubic},
    {"test_resize_tf_crop_and_resize", kCubic},
    {"test_resize_downsample_scales_linear_align_corners",
     "align_corners with 2.4 pixels: ONNX's reference goes on with that number, ONNX Runtime with 2"},
    {"test_expand_shape_model1", "an Expand that leaves the network's input as it is"},
    {"test_identity_opt", kNoTensor},
    {"test_identity_sequence", kNoTensor},
    {"test_matmul_3d", "MatMul of stacks of matrices: weights are one matrix"},
    {"test_matmul_4d", "MatMul of stacks of matrices: weights are one matrix"},
    {"test_gemm_default_matrix_bias", "a bias for each sample of the batch"},
    {"test_operator_addmm", "a bias that is computed"},
    {"test_MaxPool2d_stride_padding_dilation", "a max-pool of 4800 taps: 254 is the maximum"},
};

}  // namespace lwsvm

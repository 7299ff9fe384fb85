"""Rows of layers and of operations on whole values."""

from __future__ import annotations

from docs.what_goes_in.rows import Row, Section

LAYERS = (
    Section(
        "Dense layers, arithmetic and products",
        (
            Row(
                "dense layer",
                "Linear linear addmm addmv addbmm baddbmm",
                "Gemm MatMul",
                "Dense EinsumDense",
            ),
            Row(
                "products of matrices, with constants or of two values",
                "matmul mm bmm mv dot vdot linalg_matmul outer ger einsum Bilinear bilinear",
                "Einsum",
                "Dot dot vdot matmul tensordot outer einsum",
            ),
            Row(
                "sum, difference",
                "add sub subtract rsub neg negative positive lerp deg2rad rad2deg",
                "Add Sub Sum Neg",
                "Add Subtract add subtract negative deg2rad rad2deg",
            ),
            Row(
                "product, quotient of two values",
                "mul multiply div divide true_divide addcmul addcdiv",
                "Mul Div",
                "Multiply multiply divide true_divide",
                note="divisors of one sign",
            ),
            Row("mean of several values", "", "Mean", "Average"),
            Row("distances, angles", "PairwiseDistance CosineSimilarity cdist hypot", "", "hypot"),
        ),
    ),
    Section(
        "Convolutions",
        (
            Row("convolution", "Conv1d Conv2d Conv3d conv1d conv2d conv3d", "Conv", "Conv1D Conv2D Conv3D conv"),
            Row(
                "depthwise, separable",
                "",
                "",
                "DepthwiseConv1D DepthwiseConv2D SeparableConv1D SeparableConv2D depthwise_conv separable_conv",
                note="in PyTorch and ONNX by groups",
            ),
            Row(
                "transposed",
                "ConvTranspose1d ConvTranspose2d ConvTranspose3d conv_transpose1d conv_transpose2d conv_transpose3d",
                "ConvTranspose",
                "Conv1DTranspose Conv2DTranspose Conv3DTranspose conv_transpose",
            ),
            Row("windows as columns, and back", "Unfold Fold unfold", "Col2Im", ""),
        ),
        "Stride, padding in all modes, groups and dilation; the maps stay sparse.",
    ),
    Section(
        "Pooling and resizing",
        (
            Row(
                "maximum",
                "MaxPool1d MaxPool2d MaxPool3d max_pool1d max_pool2d max_pool3d",
                "MaxPool",
                "MaxPooling1D MaxPooling2D MaxPooling3D max_pool",
            ),
            Row(
                "average",
                "AvgPool1d AvgPool2d AvgPool3d avg_pool1d avg_pool2d avg_pool3d",
                "AveragePool",
                "AveragePooling1D AveragePooling2D AveragePooling3D average_pool",
            ),
            Row(
                "adaptive, global",
                "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d "
                "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d",
                "GlobalAveragePool GlobalMaxPool",
                "GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GlobalAveragePooling1D GlobalAveragePooling2D "
                "GlobalAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D AdaptiveAveragePooling1D "
                "AdaptiveAveragePooling2D AdaptiveAveragePooling3D adaptive_max_pool adaptive_average_pool",
            ),
            Row("by a norm", "LPPool1d LPPool2d", "LpPool GlobalLpPool", ""),
            Row(
                "upsampling, resizing",
                "Upsample UpsamplingNearest2d UpsamplingBilinear2d upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d "
                "upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d",
                "Resize Upsample",
                "UpSampling1D UpSampling2D UpSampling3D Resizing resize",
            ),
            Row(
                "padding, cropping",
                "ZeroPad1d ZeroPad2d ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d "
                "ReplicationPad1d ReplicationPad2d ReplicationPad3d CircularPad1d CircularPad2d CircularPad3d pad constant_pad_nd "
                "reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d",
                "Pad",
                "ZeroPadding1D ZeroPadding2D ZeroPadding3D Cropping1D Cropping2D Cropping3D pad",
            ),
            Row(
                "pixels and channels",
                "PixelShuffle PixelUnshuffle ChannelShuffle pixel_shuffle pixel_unshuffle channel_shuffle",
                "DepthToSpace SpaceToDepth",
                "depth_to_space space_to_depth",
            ),
        ),
    ),
    Section(
        "Normalization",
        (
            Row(
                "by statistics from training",
                "BatchNorm1d BatchNorm2d BatchNorm3d batch_norm",
                "BatchNormalization",
                "BatchNormalization batch_norm",
            ),
            Row(
                "of each point",
                "LayerNorm GroupNorm RMSNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d layer_norm group_norm rms_norm instance_norm",
                "LayerNormalization GroupNormalization RMSNormalization InstanceNormalization",
                "LayerNormalization GroupNormalization RMSNormalization layer_norm rms_norm",
            ),
            Row("by a norm", "", "LpNormalization", "UnitNormalization normalize"),
            Row("of neighbouring channels", "LocalResponseNorm", "LRN", ""),
            Row("of weights", "", "", "SpectralNormalization", note="in PyTorch weight_norm, spectral_norm, parametrizations and pruning"),
        ),
    ),
    Section(
        "Shapes",
        (
            Row(
                "the same numbers in another shape",
                "Flatten Unflatten flatten unflatten ravel reshape reshape_as view view_as squeeze unsqueeze as_strided",
                "Flatten Reshape Squeeze Unsqueeze",
                "Flatten Reshape reshape ravel squeeze expand_dims",
            ),
            Row(
                "in another order",
                "permute transpose t swapaxes swapdims movedim moveaxis flip fliplr flipud roll rot90",
                "Transpose",
                "Permute transpose swapaxes moveaxis flip roll rot90",
            ),
            Row(
                "repeated",
                "expand expand_as broadcast_to broadcast_tensors repeat repeat_interleave tile",
                "Expand Tile",
                "RepeatVector repeat tile broadcast_to",
            ),
            Row(
                "put together",
                "cat concat concatenate stack hstack vstack dstack column_stack",
                "Concat SequenceConstruct SequenceInsert SequenceEmpty ConcatFromSequence",
                "Concatenate concatenate append stack hstack",
            ),
            Row(
                "taken apart",
                "chunk split split_with_sizes tensor_split unbind hsplit vsplit dsplit",
                "Split SplitToSequence SequenceAt",
                "split unstack",
            ),
            Row(
                "sizes, and constants made of them",
                "size numel dim zeros_like ones_like empty_like full_like new_zeros new_ones new_empty new_full fill_diagonal",
                "Shape Size EyeLike",
                "zeros_like ones_like",
            ),
            Row(
                "no change at inference",
                "Identity Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout dropout alpha_dropout feature_dropout "
                "feature_alpha_dropout clone contiguous cpu cuda detach double float to type_as",
                "Identity Dropout Cast CastLike",
                "InputLayer Identity Dropout AlphaDropout SpatialDropout1D SpatialDropout2D SpatialDropout3D GaussianDropout GaussianNoise "
                "ActivityRegularization Random... AugMix CutMix MixUp RandAugment copy cast stop_gradient convert_to_tensor",
                note="casts to floating-point numbers",
            ),
        ),
    ),
    Section(
        "Selection and conditions",
        (
            Row(
                "entries by constant places",
                "select slice narrow index index_select gather take take_along_dim diagonal diag diag_embed tril triu",
                "Slice Gather GatherElements GatherND Trilu",
                "get_item slice take take_along_axis diagonal tril triu",
            ),
            Row(
                "entries written to constant places",
                "select_scatter slice_scatter diagonal_scatter scatter scatter_add index_put",
                "Scatter ScatterElements ScatterND",
                "",
            ),
            Row("rows of a table", "Embedding embedding", "", "Embedding", note="of constant indices"),
            Row(
                "choice by a condition",
                "where masked_fill nan_to_num",
                "Where",
                "where",
                note="constant conditions; in PyTorch and ONNX also comparisons whose two sides meet, as in x if x > 0 else 0",
            ),
            Row(
                "comparisons",
                "gt ge greater greater_equal lt le less less_equal eq ne logical_not bitwise_not isinf isposinf isneginf isnan isfinite sign",
                "Greater GreaterOrEqual Less LessOrEqual Not Sign",
                "logical_not logical_and logical_or",
                note="as such conditions, or where the answer does not depend on the input",
            ),
            Row("in order", "sort msort topk kthvalue median", "TopK", "", note="values, not their places"),
        ),
    ),
    Section(
        "Reductions",
        (
            Row(
                "sum, mean, product",
                "sum nansum mean nanmean prod trace cumsum",
                "ReduceSum ReduceMean ReduceProd CumSum",
                "sum mean average prod cumsum diff",
            ),
            Row("largest, smallest", "max min amax amin cummax cummin", "ReduceMax ReduceMin", "max amax min amin"),
            Row("variance, deviation", "var std var_mean std_mean", "", "var std moments"),
            Row("norms", "norm linalg_norm linalg_vector_norm", "ReduceL1 ReduceL2 ReduceSumSquare", "norm"),
            Row("logarithm of a sum", "logsumexp logcumsumexp", "ReduceLogSum ReduceLogSumExp", "logsumexp"),
        ),
    ),
    Section(
        "Attention and recurrent layers",
        (
            Row(
                "attention",
                "MultiheadAttention scaled_dot_product_attention",
                "Attention",
                "Attention AdditiveAttention MultiHeadAttention GroupedQueryAttention dot_product_attention",
            ),
            Row("transformer", "TransformerEncoderLayer TransformerDecoderLayer", "", ""),
            Row("recurrent layers of fixed length", "RNN LSTM GRU RNNCell LSTMCell GRUCell", "RNN LSTM GRU", ""),
            Row("a layer at every time step", "", "", "TimeDistributed"),
            Row(
                "control flow",
                "",
                "If Loop SequenceMap",
                "",
                note="constant conditions and counts; live modules of PyTorch may branch by shapes",
            ),
        ),
        "Written out in dense layers, products and smooth units. Their relaxations are loose: expect good points, not tight bounds.",
    ),
)

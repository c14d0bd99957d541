// constant: splats
module @constant {
  func.func public @main() -> (tensor<2x3xf32>, tensor<f64>, tensor<f32>, tensor<f64>, tensor<f32>, tensor<bf16>, tensor<f16>, tensor<3xi32>, tensor<ui8>, tensor<2xi1>) {
    %0 = "stablehlo.constant"() <{value = dense<1.0e-01> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
    %1 = "stablehlo.constant"() <{value = dense<-0.0e+00> : tensor<f64>}> : () -> tensor<f64>
    %2 = "stablehlo.constant"() <{value = dense<1.0e-45> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.constant"() <{value = dense<1.7976931348623157e+308> : tensor<f64>}> : () -> tensor<f64>
    %4 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.constant"() <{value = dense<3.140625e+00> : tensor<bf16>}> : () -> tensor<bf16>
    %6 = "stablehlo.constant"() <{value = dense<6.5504e+04> : tensor<f16>}> : () -> tensor<f16>
    %7 = "stablehlo.constant"() <{value = dense<-7> : tensor<3xi32>}> : () -> tensor<3xi32>
    %8 = "stablehlo.constant"() <{value = dense<255> : tensor<ui8>}> : () -> tensor<ui8>
    %9 = "stablehlo.constant"() <{value = dense<true> : tensor<2xi1>}> : () -> tensor<2xi1>
    "func.return"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<2x3xf32>, tensor<f64>, tensor<f32>, tensor<f64>, tensor<f32>, tensor<bf16>, tensor<f16>, tensor<3xi32>, tensor<ui8>, tensor<2xi1>) -> ()
  }
}
// constant: lists
module @constant {
  func.func public @main() -> (tensor<2x3xf32>, tensor<3x1x2xf64>, tensor<4xui32>, tensor<2x2xui64>, tensor<66xf32>) {
    %0 = "stablehlo.constant"() <{value = dense<[[1.0e+00, 2.5e+00, -3.0e+00], [3.3333334e-01, 5.0e+00, 6.0e+00]]> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
    %1 = "stablehlo.constant"() <{value = dense<[[[1.0e+00, 2.5e+00]], [[-3.0e+00, 3.333333333333333e-01]], [[5.0e+00, 6.0e+00]]]> : tensor<3x1x2xf64>}> : () -> tensor<3x1x2xf64>
    %2 = "stablehlo.constant"() <{value = dense<[0, 1, 2, 4294967295]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %3 = "stablehlo.constant"() <{value = dense<[[0, 1], [2, 4294967295]]> : tensor<2x2xui64>}> : () -> tensor<2x2xui64>
    %4 = "stablehlo.constant"() <{value = dense<"0x000000000000003F0000803F0000C03F0000004000002040000040400000604000008040000090400000A0400000B0400000C0400000D0400000E0400000F0400000004100000841000010410000184100002041000028410000304100003841000040410000484100005041000058410000604100006841000070410000784100008041000084410000884100008C4100009041000094410000984100009C410000A0410000A4410000A8410000AC410000B0410000B4410000B8410000BC410000C0410000C4410000C8410000CC410000D0410000D4410000D8410000DC410000E0410000E4410000E8410000EC410000F0410000F4410000F8410000FC410000004200000242"> : tensor<66xf32>}> : () -> tensor<66xf32>
    "func.return"(%0, %1, %2, %3, %4) : (tensor<2x3xf32>, tensor<3x1x2xf64>, tensor<4xui32>, tensor<2x2xui64>, tensor<66xf32>) -> ()
  }
}

// sharding_constraint: rows
module @sharding_constraint attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=8]>
  func.func public @main(%arg0: tensor<8x3xf64>) -> (tensor<8x3xf64>) {
    %0 = "sdy.sharding_constraint"(%arg0) <{sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}> : (tensor<8x3xf64>) -> tensor<8x3xf64>
    "func.return"(%0) : (tensor<8x3xf64>) -> ()
  }
}

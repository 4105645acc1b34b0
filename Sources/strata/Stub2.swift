extension VerbRun {
  func copy() throws -> Int32 { 1 }
  func compact() throws -> Int32 { 1 }
}

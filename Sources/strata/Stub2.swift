extension VerbRun {
  func export() throws -> Int32 { 1 }
  func importFile() throws -> Int32 { 1 }
  func put() throws -> Int32 { 1 }
  func copy() throws -> Int32 { 1 }
  func compact() throws -> Int32 { 1 }
  func verify() throws -> Int32 { 1 }
  func salvage() throws -> Int32 { 1 }
  func convert() throws -> Int32 { 1 }
}

extension VerbRun {
  func export() throws -> Int32 { 1 }
  func importFile() throws -> Int32 { 1 }
  func put() throws -> Int32 { 1 }
  func copy() throws -> Int32 { 1 }
  func compact() throws -> Int32 { 1 }
  func verify() throws -> Int32 { 1 }
  func salvage() throws -> Int32 { 1 }
  func convert() throws -> Int32 { 1 }
  func manual() throws -> Int32 { 1 }
  func completions() throws -> Int32 { 1 }
}
extension Program {
  static func browse(_ words: [String]) async throws -> Int32 { 1 }
  static func demo(_ words: Any) async throws -> Int32 { 1 }
}

enum BinaryPropertyList {
  static func document(of bytes: [UInt8]) throws(ModelError) -> Document { throw .refused(reason: "not yet") }
  static func bytes(of document: Document) throws(ModelError) -> [UInt8] { throw .refused(reason: "not yet") }
}
enum XMLPropertyList {
  static func document(of bytes: [UInt8]) throws(ModelError) -> Document { throw .refused(reason: "not yet") }
  static func bytes(of document: Document) throws(ModelError) -> [UInt8] { throw .refused(reason: "not yet") }
}

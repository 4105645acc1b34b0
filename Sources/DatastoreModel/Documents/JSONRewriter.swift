enum JSONRewriter {
  static func bytes(of document: Document, keeping original: [UInt8]) -> [UInt8]? { nil }
}

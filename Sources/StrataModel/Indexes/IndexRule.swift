package import StrataDocuments

/// How the values of an index are found in a document, without the app's types: one path, or one per tier.
package struct IndexRule: Hashable, Sendable {
  /// Why it is believed.
  package enum Origin: Hashable, Sendable {
    /// It was declared when the index was made.
    case declared
    /// The stored name of the key path is the document path, and it reproduces the index exactly.
    case keyPathName
    /// No other path reproduces the index exactly, among at least 20 distinct values.
    case onlyCandidate
  }

  package struct Tier: Hashable, Sendable {
    package var path: DocumentPath
    package var encoding: KeyEncoding
  }

  package var tiers: [Tier]
  /// Whether the path leads to a list, each distinct element of which is a value.
  package var hasManyValues: Bool
  /// The encoding of the whole value.
  package var encoding: KeyEncoding
  package var origin: Origin

  init(_ index: IndexDescriptor, paths: [DocumentPath], origin: Origin) {
    tiers = zip(paths, index.tierEncodings).map { Tier(path: $0, encoding: $1) }
    hasManyValues = index.kind.hasManyValues
    encoding = index.encoding
    self.origin = origin
  }

  /// The paths for people: `.population`, `.country, .population`.
  package var text: String { tiers.map(\.path.description).joined(separator: ", ") }

  /// The values of a document, each once; throws `ModelError.refused` if it has none that the index could hold.
  package func values(of document: Document) throws(ModelError) -> [KeyValue] {
    if tiers.count > 1 {
      return [.compound(try tiers.map { tier throws(ModelError) in try value(of: document[tier.path], tier) })]
    }
    guard let tier = tiers.first else { return [] }
    guard hasManyValues else { return [try value(of: document[tier.path], tier)] }
    switch document[tier.path] {
    case nil, .null?: return []
    case .array(let elements)?:
      return try elements.map { element throws(ModelError) in try value(of: element, tier) }
    case let other?: throw .refused(reason: "\(tier.path) is \(other.typeName) and no list")
    }
  }

  /// The encoded values of a document, distinct and in byte order.
  package func encodedValues(of document: Document) throws(ModelError) -> [[UInt8]] {
    var encoded = try values(of: document).map { value throws(ModelError) in try encoding.encode(value) }
    guard encoded.count > 1 else { return encoded }
    encoded.sort { $0.precedes($1) }
    return encoded.indices.filter { $0 == 0 || encoded[$0] != encoded[$0 - 1] }.map { encoded[$0] }
  }

  private func value(of field: Document?, _ tier: Tier) throws(ModelError) -> KeyValue {
    if let value = tier.encoding.keyValue(of: field) { return value }
    guard let field else { throw .refused(reason: "\(tier.path) is missing, and the index needs a value") }
    throw .refused(reason: "\(tier.path) is \(field.shownInSentence), which is not a valid \(tier.encoding.name)")
  }
}

extension Document {
  /// As JSON, cut if it is long.
  var shownInSentence: String {
    let text = compactJSON
    return text.count > 40 ? "\(text.prefix(39))…" : text
  }
}

extension IndexDescriptor {
  /// The encodings of the tiers; of other indexes the one of the value.
  package var tierEncodings: [KeyEncoding] {
    if case .compound(let encodings) = encoding, tiers.count == encodings.count { encodings } else { [encoding] }
  }

  /// The document path of its values, declared or by the name of the key path; nil if it is unknown.
  package var documentPath: DocumentPath? { Self.documentPath(rule, keyPathName) }

  /// The paths of its tiers, as far as they are known.
  package var tierPaths: [DocumentPath] { tiers.compactMap { Self.documentPath($0.rule, $0.keyPathName) } }

  private static func documentPath(_ rule: String?, _ keyPathName: String?) -> DocumentPath? {
    if let rule { return try? DocumentPath(parsing: rule) }
    return keyPathName.flatMap { documentPath(ofKeyPath: $0) }
  }

  /// Whether a declared rule gives the values of the index.
  package var hasDeclaredRule: Bool { declaredRule != nil }

  /// The declared rule, or nil if there is none or its paths cannot be parsed.
  var declaredRule: IndexRule? {
    let texts = tiers.isEmpty ? [rule] : tiers.map(\.rule)
    let paths = texts.compactMap { $0.flatMap { try? DocumentPath(parsing: $0) } }
    guard paths.count == texts.count, !paths.isEmpty else { return nil }
    return IndexRule(self, paths: paths, origin: .declared)
  }

  /// The document paths that the stored key-path names spell, `\City.population` and `population` alike, and `place.city` for
  /// `.place?.city?`; nil if one is not stored or cannot be parsed.
  var namedPaths: [DocumentPath]? {
    let names = tiers.isEmpty ? [keyPathName] : tiers.map(\.keyPathName)
    let paths = names.compactMap { $0.flatMap { Self.documentPath(ofKeyPath: $0) } }
    return paths.count == names.count && !paths.isEmpty ? paths : nil
  }

  private static func documentPath(ofKeyPath name: String) -> DocumentPath? {
    var name = name[...]
    if name.first == "\\" { name = name.firstIndex(of: ".").map { name[$0...] } ?? "" }
    let parts = name.split(separator: ".").map { $0.filter { $0 != "?" && $0 != "!" } }
    guard !parts.isEmpty, parts.allSatisfy({ !$0.isEmpty && !$0.contains("[") && !$0.contains("<") }) else {
      return nil
    }
    return DocumentPath(parts.map { .member(String($0)) })
  }
}

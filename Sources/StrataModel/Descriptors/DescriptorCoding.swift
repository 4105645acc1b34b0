import StrataDocuments

// Descriptors as JSON. Members are sorted, absent ones have their default meaning, and members of a later version are kept and written
// back, so that an older program never removes data that a newer one wrote.
//
// They are read and written as the documents of records are, because each program reads them at its start, and `JSONDecoder` spends half a
// millisecond on making types before the first one.

extension DatastoreDescriptor {
  /// Reads the attributes of a datastore's tree.
  package init(bytes: [UInt8]) throws(ModelError) {
    do {
      try self.init(DescriptorMembers(try RecordCoding.json.document(of: bytes)))
    } catch {
      throw .unreadable(what: "the descriptor of a datastore", where: "\(error)")
    }
  }

  /// The stored JSON, which is the same for equal descriptors. Throws `readOnly` if an index is of an unknown kind.
  package var bytes: [UInt8] {
    get throws(ModelError) {
      try requireKnownIndexes()
      return document.sorted.json(.compact)
    }
  }

  private enum Members: String {
    case key, version, versionIsString, instanceType, identifierType, identifierEncoding, coding, identifierPath
    case indexes
  }

  private init(_ members: DescriptorMembers<Members>) throws(DocumentError) {
    var unknownIndexes: [String: String] = [:]
    let indexes = try members.list(.indexes) { element throws(DocumentError) -> IndexDescriptor? in
      let index = try DescriptorMembers<IndexDescriptor.Members>(element)
      guard let kind = try index.textIfThere(.kind), IndexKind(rawValue: kind) == nil else {
        return try IndexDescriptor(index)
      }
      unknownIndexes[try index.text(.name)] = kind
      return nil
    }
    if let name = indexes.compactMap({ $0?.name }).firstRepeated {
      throw .unreadable(what: "a descriptor", where: "two of its indexes have the name \(name)")
    }
    self.init(
      key: try members.text(.key),
      version: try members.text(.version),
      versionIsString: try members.flag(.versionIsString),
      instanceType: try members.textIfThere(.instanceType) ?? "",
      identifierType: try members.text(.identifierType),
      identifierEncoding: try members.value(.identifierEncoding) { KeyEncoding($0) },
      coding: try members.value(.coding) { RecordCoding(rawValue: $0) },
      identifierPath: try members.textIfThere(.identifierPath),
      indexes: indexes.compactMap { $0 },
      unknown: members.others)
    self.unknownIndexes = unknownIndexes
  }

  private var document: Document {
    var members = DescriptorMembers<Members>(others: unknown)
    members[.key] = .string(key)
    members[.version] = .string(version)
    if versionIsString { members[.versionIsString] = true }
    if !instanceType.isEmpty { members[.instanceType] = .string(instanceType) }
    members[.identifierType] = .string(identifierType)
    members[.identifierEncoding] = .string(identifierEncoding.description)
    members[.coding] = .string(coding.rawValue)
    members[.identifierPath] = identifierPath.map { .string($0) }
    if !indexes.isEmpty { members[.indexes] = .array(indexes.map(\.document)) }
    return members.document
  }
}

extension IndexDescriptor {
  fileprivate enum Members: String {
    case name, kind, type, storage, encoding, valueType, keyPathName, rule, isUnique, version, isStale, tiers, target
  }

  fileprivate init(_ members: DescriptorMembers<Members>) throws(DocumentError) {
    self.init(
      name: try members.text(.name),
      kind: try members.value(.kind) { IndexKind(rawValue: $0) },
      type: try members.text(.type),
      storage: try members.valueIfThere(.storage) { IndexStorageKind(rawValue: $0) } ?? .reference,
      encoding: try members.value(.encoding) { KeyEncoding($0) },
      valueType: try members.text(.valueType),
      keyPathName: try members.textIfThere(.keyPathName),
      rule: try members.textIfThere(.rule),
      isUnique: try members.flag(.isUnique),
      version: try members.text(.version),
      isStale: try members.flag(.isStale),
      tiers: try members.list(.tiers) { element throws(DocumentError) in try IndexTier(DescriptorMembers(element)) },
      target: try members.textIfThere(.target),
      unknown: members.others)
  }

  fileprivate var document: Document {
    var members = DescriptorMembers<Members>(others: unknown)
    members[.name] = .string(name)
    members[.kind] = .string(kind.rawValue)
    members[.type] = .string(type)
    if storage != .reference { members[.storage] = .string(storage.rawValue) }
    members[.encoding] = .string(encoding.description)
    members[.valueType] = .string(valueType)
    members[.keyPathName] = keyPathName.map { .string($0) }
    members[.rule] = rule.map { .string($0) }
    if isUnique { members[.isUnique] = true }
    members[.version] = .string(version)
    if isStale { members[.isStale] = true }
    if !tiers.isEmpty { members[.tiers] = .array(tiers.map(\.document)) }
    members[.target] = target.map { .string($0) }
    return members.document
  }
}

extension IndexTier {
  fileprivate enum Members: String { case valueType, keyPathName, rule, isDescending }

  fileprivate init(_ members: DescriptorMembers<Members>) throws(DocumentError) {
    self.init(
      valueType: try members.text(.valueType), keyPathName: try members.textIfThere(.keyPathName),
      rule: try members.textIfThere(.rule),
      isDescending: try members.required(.isDescending, members.flagIfThere(.isDescending)))
  }

  fileprivate var document: Document {
    var members = DescriptorMembers<Members>(others: [:])
    members[.valueType] = .string(valueType)
    members[.keyPathName] = keyPathName.map { .string($0) }
    members[.rule] = rule.map { .string($0) }
    members[.isDescending] = .bool(isDescending)
    return members.document
  }
}

/// The members of one JSON object, with known and unknown names. A null member counts as absent.
private struct DescriptorMembers<Name: RawRepresentable<String>> {
  private var members: [String: Document]

  init(_ document: Document) throws(DocumentError) {
    guard case .object(let members) = document else {
      throw .unreadable(what: "a descriptor", where: "it is \(document.typeName) and no object")
    }
    self.members = Dictionary(members.map { ($0.name, $0.value) }) { _, last in last }
  }

  init(others: [String: Document]) { members = others }

  subscript(name: Name) -> Document? {
    get { members[name.rawValue] }
    set { members[name.rawValue] = newValue }
  }

  var document: Document { .object(members.map { .init($0.key, $0.value) }) }

  func text(_ name: Name) throws(DocumentError) -> String { try required(name, textIfThere(name)) }

  func textIfThere(_ name: Name) throws(DocumentError) -> String? { try valueIfThere(name) { $0 } }

  func value<Value>(_ name: Name, _ make: (String) -> Value?) throws(DocumentError) -> Value {
    try required(name, valueIfThere(name, make))
  }

  /// Returns the value that a member's text stands for.
  func valueIfThere<Value>(_ name: Name, _ make: (String) -> Value?) throws(DocumentError) -> Value? {
    try read(name) { if case .string(let text) = $0 { make(text) } else { nil } }
  }

  /// Returns false if the member is absent.
  func flag(_ name: Name) throws(DocumentError) -> Bool { try flagIfThere(name) ?? false }

  func flagIfThere(_ name: Name) throws(DocumentError) -> Bool? {
    try read(name) { if case .bool(let flag) = $0 { flag } else { nil } }
  }

  /// Returns the elements of a list; none if there is no such member.
  func list<Element>(
    _ name: Name, _ make: (Document) throws(DocumentError) -> Element
  ) throws(DocumentError) -> [Element] {
    let elements = try read(name) { document -> [Document]? in
      if case .array(let elements) = document { elements } else { nil }
    }
    return try (elements ?? []).map(make)
  }

  /// The members of a later version.
  var others: [String: Document] { members.filter { Name(rawValue: $0.key) == nil } }

  func required<Value>(_ name: Name, _ value: Value?) throws(DocumentError) -> Value {
    guard let value else { throw .unreadable(what: "a descriptor", where: "its \(name.rawValue) is missing") }
    return value
  }

  private func read<Value>(_ name: Name, _ make: (Document) -> Value?) throws(DocumentError) -> Value? {
    guard let document = self[name], document != .null else { return nil }
    guard let value = make(document) else {
      throw .unreadable(what: "a descriptor", where: "its \(name.rawValue) is \(document.shownInSentence)")
    }
    return value
  }
}

extension Document {
  /// The members of all objects in the order of their names, each once: equal descriptors have equal bytes.
  fileprivate var sorted: Document {
    switch self {
    case .array(let elements): .array(elements.map(\.sorted))
    case .object(let members):
      .object(
        members.lastOfEachName.map { .init($0.name, $0.value.sorted) }
          .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
    default: self
    }
  }
}

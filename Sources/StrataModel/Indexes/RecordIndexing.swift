import StrataDocuments
import StrataEngine

/// Finds the index values of records of one datastore: by the app's own types if they are compiled in, otherwise by
/// the proven rules.
package struct RecordIndexing {
  let descriptor: DatastoreDescriptor
  let format: (any CompiledFormat)?
  let rules: [String: RuleOutcome]
  private let isServed: Bool
  /// The proven rule of each of the descriptor's indexes; nil if the index has none or is stale.
  private let valueRules: [IndexRule?]

  init(_ datastore: EngineDatastore, progress: WorkProgress? = nil) throws(ModelError) {
    let store = datastore.view.store
    let format = store.formats[datastore.descriptor.key]
    self.init(
      datastore.descriptor, format,
      format == nil ? try store.proofs.rules(of: datastore, progress: progress) : [:], isServed: store.engine.isServed)
  }

  /// The same for another descriptor: indexes that it marks stale have no values.
  private init(
    _ descriptor: DatastoreDescriptor, _ format: (any CompiledFormat)?, _ rules: [String: RuleOutcome], isServed: Bool
  ) {
    self.descriptor = descriptor
    self.isServed = isServed
    self.format = format
    self.rules = rules
    valueRules = descriptor.indexes.map { $0.isStale ? nil : rules[$0.name]?.rule }
  }

  /// Of a datastore whose indexes all have declared rules.
  ///
  /// - Parameter isServed: whether it is one of a store on a server.
  package init(declared descriptor: DatastoreDescriptor, isServed: Bool = false) {
    let rules = descriptor.indexes.compactMap { index in index.declaredRule.map { (index.name, RuleOutcome.proven($0)) }
    }
    self.init(descriptor, nil, Dictionary(uniqueKeysWithValues: rules), isServed: isServed)
  }

  func marking(stale names: [String]) -> RecordIndexing {
    var descriptor = descriptor
    descriptor.markStale(names)
    return RecordIndexing(descriptor, format, rules, isServed: isServed)
  }

  /// The reasons why records of this datastore cannot be edited, index by index; empty if they can.
  var refusals: [EditRefusal] {
    guard format == nil else { return [] }
    guard descriptor.identifierEncoding.isByteOrdered else {
      return [
        refusal(nil, "its identifiers are ordered as only the app knows (\(descriptor.identifierType))", false)
      ]
    }
    return descriptor.indexes.compactMap { index in
      if index.isStale { return nil }
      switch rules[index.name] {
      case .proven: return nil
      case .unproven(let reason): return refusal(index.name, "index \(index.name) has no proven rule: \(reason)", true)
      case nil: return refusal(index.name, "index \(index.name) has no proven rule", true)
      }
    }
  }

  /// The encoded values of a record per index, in the order of the descriptor's indexes; throws `ModelError.refused`
  /// if the record does not decode or has no value that an index could hold.
  package func values(of content: RecordContent) throws(ModelError) -> [[[UInt8]]] {
    guard !descriptor.indexes.isEmpty || format != nil else { return [] }
    if let format { return inOrder(try format.keys(of: content).values) }
    return try values(of: content, document(of: content))
  }

  /// The values that a format gives by index name, in the order of the descriptor's indexes.
  private func inOrder(_ values: [String: [[UInt8]]]) -> [[[UInt8]]] {
    descriptor.indexes.map { $0.isStale ? [] : values[$0.name] ?? [] }
  }

  /// The paths of the values that `values(of:_:)` reads.
  var valuePaths: [DocumentPath] { valueRules.flatMap { $0?.tiers.map(\.path) ?? [] } }

  /// As `values(of:)`, if the document, or at least the part of it at `valuePaths`, is known already.
  func values(of content: RecordContent, _ document: Document) throws(ModelError) -> [[[UInt8]]] {
    if format != nil { return try values(of: content) }
    var values: [[[UInt8]]] = []
    values.reserveCapacity(valueRules.count)
    for (position, rule) in valueRules.enumerated() {
      do {
        values.append(try rule?.encodedValues(of: document) ?? [])
      } catch {
        throw .refused(reason: "index \(descriptor.indexes[position].name): \(error)")
      }
    }
    return values
  }

  /// The names of the indexes that cannot hold one of the records: it lacks a value that the rule needs, or the value is too long; and of
  /// those whose rule is unknown, unless their values must be unique.
  func indexes(refusing edits: [RecordEdit]) throws(ModelError) -> [String] {
    guard format == nil else { return [] }
    var refused = Set(
      valueRules.indices.filter { place in
        valueRules[place] == nil && !descriptor.indexes[place].isStale && !descriptor.indexes[place].isUnique
      })
    for edit in edits {
      guard let content = edit.new else { continue }
      let document = try document(of: content)
      for (position, rule) in valueRules.enumerated() {
        guard let rule else { continue }
        let values = try? rule.encodedValues(of: document)
        if values?.allSatisfy({ fits($0, edit.identifier.bytes) }) != true { refused.insert(position) }
      }
    }
    return refused.sorted().map { descriptor.indexes[$0].name }
  }

  /// Throws if an entry would be longer than a key may be, before anything is written.
  func checkLengths(_ values: [[[UInt8]]], of identifier: [UInt8]) throws(ModelError) {
    if identifier.count > keyLimit {
      throw .refused(
        reason: "the identifier, of \(identifier.count) bytes, is longer than the \(keyLimit) that a key may have")
    }
    for (position, values) in values.enumerated() {
      for value in values where !fits(value, identifier) {
        throw .refused(
          reason:
            "index \(descriptor.indexes[position].name): a value of \(value.count) bytes is longer than a key may "
            + "be (\(keyLimit))")
      }
    }
  }

  private var keyLimit: Int { isServed ? Limits.servedKey : Limits.key }

  private func fits(_ value: [UInt8], _ identifier: [UInt8]) -> Bool {
    EntryKey.length(value: value, identifier: identifier) <= keyLimit
  }

  func document(of content: RecordContent) throws(ModelError) -> Document {
    try onDocument(descriptor.coding(of: content.bytes).document(of: content.bytes))
  }

  /// The values of a record that is to be written, as `values(of:)`, after looking whether it can be.
  ///
  /// - Parameters:
  ///   - identifier: the one that it is written under. An app may keep an instance under another identifier than its own; then its own
  ///     must stay what it was.
  ///   - old: what is there.
  ///   - isBroughtBack: whether it was there before; then its own identifier is not looked at.
  /// - Throws: `ModelError.refused` if it does not decode, if its own identifier is another, or if an entry would be too long.
  func values(
    of content: RecordContent, under identifier: StoredKey, insteadOf old: RecordContent?, isBroughtBack: Bool
  ) throws(ModelError) -> [[[UInt8]]] {
    let values: [[[UInt8]]]
    if isBroughtBack {
      values = try self.values(of: content)
    } else if let format {
      let keys = try format.keys(of: content)
      if keys.identifier != identifier.bytes {
        guard let old, try keys.identifier == format.keys(of: old).identifier else { throw otherIdentifier(identifier) }
      }
      values = inOrder(keys.values)
    } else {
      let document: Document
      do {
        document = try self.document(of: content)
      } catch {
        throw .refused(reason: "the new content does not parse: \(error)")
      }
      if let text = descriptor.identifierPath {
        let path = try onDocument(DocumentPath(parsing: text))
        guard let value = descriptor.identifierEncoding.keyValue(of: document[path]),
          try descriptor.identifierEncoding.encode(value) == identifier.bytes
        else { throw otherIdentifier(identifier) }
      }
      values = try self.values(of: content, document)
    }
    try checkLengths(values, of: identifier.bytes)
    return values
  }

  private func otherIdentifier(_ identifier: StoredKey) -> ModelError {
    .refused(
      reason: "the identifier of a record cannot be changed (\(identifier)): insert a record with the new one and "
        + "delete this one")
  }

  private func refusal(_ index: String?, _ reason: String, _ canBeMarkedStale: Bool) -> EditRefusal {
    EditRefusal(datastore: descriptor.key, index: index, reason: reason, canBeMarkedStale: canBeMarkedStale)
  }
}

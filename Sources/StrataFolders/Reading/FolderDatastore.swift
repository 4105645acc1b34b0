import StrataDocuments
package import StrataModel

/// One datastore as of one iteration.
///
/// Opening reads its root and the manifest and first page of each index, whatever the number of records. If a file is damaged, the
/// datastore still opens: calls that need that file throw its error, and the rest can be read.
package struct FolderDatastore: ReadableDatastore {
  package let descriptor: DatastoreDescriptor
  let primaryIndex: FolderIndex
  let secondaryIndexes: [FolderIndex]

  package var primary: any ReadableIndex { primaryIndex }
  package var indexes: [any ReadableIndex] { secondaryIndexes }
  package var count: Int { get throws(ModelError) { try primaryIndex.count } }

  package func record(_ key: StoredKey) throws(ModelError) -> Record? {
    guard let place = try primaryIndex.placeInAnyOrder(of: key) else { return nil }
    let entries = try primaryIndex.entries
    return try reading { () throws(FolderError) in
      Record(try primaryIndex.entry(at: place, in: entries), like: descriptor.coding)
    }
  }

  package func identifier(parsing text: String) throws(ModelError) -> StoredKey {
    let encoding = primaryIndex.identifiers.encoding
    // The identifier of a composite type is JSON; one that a person types without quotes is text.
    let isBareText = !encoding.isByteOrdered && (try? JSONParser.parse(text)) == nil
    let value = isBareText ? KeyValue.document(.string(text)) : try encoding.parse(text)
    return StoredKey(bytes: try encoding.encode(value), value: value)
  }
}

extension FolderDatastore {
  /// Opens a datastore, once for all states that name the same root.
  ///
  /// - Parameter root: Nil if it was never written.
  static func open(
    _ key: String, _ root: (file: String, folder: String)?, contents: FolderContents
  ) -> FolderDatastore {
    guard let root else {
      return FolderDatastore(key, of: .success(EntryList(source: contents.pageFiles(of: ""), pages: [])))
    }
    do throws(FolderError) {
      return try contents.datastores.value(of: [key, root.file]) { () throws(FolderError) in
        FolderDatastore(key: key, try contents.root(root.file), in: root.folder, contents: contents)
      }
    } catch {
      return FolderDatastore(key, of: .failure(error))
    }
  }

  private init(key: String, _ root: RootFile, in folder: String, contents: FolderContents) {
    let opener = IndexOpener(root: root, folder: folder, contents: contents)
    let primary = opener.primary()
    let secondary = opener.secondary(identifiers: primary.identifiers)
    primaryIndex = primary
    secondaryIndexes = secondary
    descriptor = DatastoreDescriptor(
      key: key, version: root.descriptor.version, versionIsString: root.descriptor.versionIsString,
      instanceType: root.descriptor.instanceType, identifierType: root.descriptor.identifierType,
      identifierEncoding: primary.identifiers.encoding, coding: primary.firstRecord.map(RecordCoding.sniff) ?? .json,
      indexes: secondary.map(\.descriptor))
  }

  /// A datastore whose types are not known: it is registered and was never written to, or cannot be read.
  private init(_ key: String, of source: Result<EntryList, FolderError>) {
    let unknown = ValueType.unknown("")
    let primary = FolderIndex(
      descriptor: IndexOpener.primaryDescriptor(of: unknown, version: ""), layout: .primary, values: unknown,
      identifiers: unknown, source: source, recordedCount: nil)
    primaryIndex = primary
    secondaryIndexes = []
    descriptor = DatastoreDescriptor(
      key: key, version: "", identifierType: "", identifierEncoding: unknown.encoding, coding: .json)
  }
}

/// Finds the entries of a root's indexes and the types of their values.
private struct IndexOpener {
  let root: RootFile
  let folder: String
  let contents: FolderContents

  func primary() -> FolderIndex {
    let source = entries(of: FolderLayout.primaryIndex(of: folder), manifest: root.primaryManifest)
    let type = ValueType(named: root.descriptor.identifierType).checked(against: source, as: .primary) { $0.identifier }
    return FolderIndex(
      descriptor: Self.primaryDescriptor(of: type, version: root.descriptor.version), layout: .primary, values: type,
      identifiers: type, source: source, recordedCount: root.descriptor.size)
  }

  func secondary(identifiers: ValueType) -> [FolderIndex] {
    let direct = root.descriptor.directIndexes.map { index($0, .direct, root.directIndexes, identifiers) }
    let reference = root.descriptor.referenceIndexes.map { index($0, .reference, root.referenceIndexes, identifiers) }
    return (direct + reference).sorted { $0.descriptor.name < $1.descriptor.name }
  }

  private func index(
    _ index: RootFile.Index, _ layout: Entry.Layout, _ references: [RootFile.IndexReference], _ identifiers: ValueType
  ) -> FolderIndex {
    let type = IndexType(parsing: index.type)
    let source: Result<EntryList, FolderError>
    if let reference = references.first(where: { $0.name == index.name }) {
      source = entries(
        of: FolderLayout.index(reference.folder, layout: layout, of: folder), manifest: reference.manifest)
    } else {
      source = .failure(
        FolderError(
          file: folder, FormatError("its newest root declares the index \(index.name) and has no manifest of it")))
    }
    let values = type.value.checked(against: source, as: layout) { $0.value }
    return FolderIndex(
      descriptor: IndexDescriptor(
        name: index.name, kind: type.kind, type: index.type, storage: layout == .direct ? .direct : .reference,
        encoding: values.encoding, valueType: values.name, version: index.version),
      layout: layout, values: values, identifiers: identifiers, source: source, recordedCount: nil)
  }

  private func entries(of index: String, manifest: FolderName) -> Result<EntryList, FolderError> {
    Result { () throws(FolderError) in try contents.entries(of: index, manifest: manifest) }
  }

  static func primaryDescriptor(of type: ValueType, version: String) -> IndexDescriptor {
    IndexDescriptor(
      name: "", kind: .primary, type: "Primary(\(type.name))", encoding: type.encoding, valueType: type.name,
      version: version)
  }
}

extension ValueType {
  /// The type as the first entry shows it: if its values are not of the named type, the type is an app's own.
  fileprivate func checked(
    against source: Result<EntryList, FolderError>, as layout: Entry.Layout, header: (Entry) -> ArraySlice<UInt8>
  ) -> ValueType {
    guard isKnown, let entries = try? source.get() else { return self }
    guard let first = entries.row(atOrAfter: .start), let bytes = try? entries.read(first).bytes,
      let entry = try? Entry(parsing: bytes, as: layout)
    else { return self }
    return (try? key(parsing: header(entry))) == nil ? ValueType.unknown(name) : self
  }
}

extension FolderIndex {
  /// The content of the first record that can be read.
  fileprivate var firstRecord: [UInt8]? {
    guard let entries = try? source.get(), let first = entries.row(atOrAfter: .start) else { return nil }
    return try? entry(at: first, in: entries).record
  }
}

extension Record {
  /// The record of a primary entry. `coding` is that of the datastore's other records, so that the first byte is enough for most.
  init(_ entry: FolderEntry, like coding: RecordCoding) {
    let content = entry.record ?? []
    let looksAlike = coding == .json && (content.first == UInt8(ascii: "{") || content.first == UInt8(ascii: "["))
    self.init(
      identifier: entry.identifier, version: entry.version?.text ?? "", content: content,
      coding: looksAlike ? .json : RecordCoding.sniff(content))
  }
}

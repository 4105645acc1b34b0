extension FileStore {
  /// The dictionaries of the next generation. Those of this one are kept, until their trees have grown much; the others are made of the
  /// records of a state. The same state gives the same ones. Returns nil if no values are to be compressed.
  func dictionaries(for state: Publication.State) throws(StorageError) -> ValueDictionaries? {
    let view = View(commit: state.head, file: state.file)
    var found: [ValueDictionary] = []
    for name in try view.trees() where found.count < ValueDictionaries.most {
      guard let entry = try view.catalogEntry(name), entry.kind == .records else { continue }
      let old = state.file.dictionaries?[name]
      let isCompressed = old != nil
      // The entries of a compressed tree are short already.
      guard entry.entryBytes >= options.leastCompressedBytes / (isCompressed ? 4 : 1) else { continue }
      let tree = try view.tree(name, entry)
      guard options.compresses?(name, tree.attributes) ?? isCompressed else { continue }
      let outgrown = min(UInt64(ValueDictionary.longest), entry.entryBytes / DictionarySample.share) / 2
      let sample = if let old, old.bytes.count > outgrown { old.bytes } else { try DictionarySample(of: tree).bytes }
      if !sample.isEmpty { found.append(ValueDictionary(UInt8(found.count + 1), of: name, sample)) }
    }
    return found.isEmpty ? nil : ValueDictionaries(found)
  }
}

/// Whole records of a tree, evenly spread: as good as a dictionary that was trained.
private struct DictionarySample {
  private(set) var bytes: [UInt8] = []
  private let tree: Tree
  private let count: UInt64

  /// A dictionary lies in the file twice, so it is to be small beside the values.
  static let share: UInt64 = 8
  /// The number of records that say how long records are.
  private static let measured: UInt64 = 64

  init(of tree: Tree) throws(StorageError) {
    self.tree = tree
    count = try tree.count
    var total: UInt64 = 0
    let measured = min(count, Self.measured)
    // A value counts at most for a whole dictionary, so that no count of a forged tree overflows.
    try forEach(of: measured) { total += UInt64(min($0.count, ValueDictionary.longest)) }
    guard total > 0 else { return }
    let room = min(UInt64(ValueDictionary.longest), (total * count / measured) / Self.share)
    try forEach(of: min(count, max(1, room * measured / total))) { value in
      let part = value.prefix(Int(max(1, room / 8)))
      if bytes.count + part.count <= room { bytes += part }
    }
  }

  /// Calls `body` with a number of values, evenly spread.
  private func forEach(
    of number: UInt64, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(StorageError) {
    var cursor = tree.cursor()
    for index in 0..<number {
      try cursor.seek(rank: index * count / number)
      guard let record = cursor.current?.payload.record else { continue }
      try tree.value(of: record).withUnsafeBytes(body)
    }
  }
}

extension Tree {
  /// The share of their raw length that values take in the file, from a few of them. Returns nil if the values are not compressed.
  package func compressedShare() throws(StorageError) -> Double? {
    guard source.file.dictionaries?[name] != nil, root.count > 0 else { return nil }
    var (stored, raw) = (0, 0)
    var cursor = cursor()
    for index in 0..<min(root.count, 256) {
      try cursor.seek(rank: index * root.count / min(root.count, 256))
      guard let reference = cursor.current?.payload.entry else { continue }
      let (entry, bytes) = try source.entry(reference)
      stored += Int(entry.valueLength)
      raw += try source.file.rawValue(of: entry, bytes, at: reference.offset).count
    }
    return raw == 0 ? nil : Double(stored) / Double(raw)
  }
}

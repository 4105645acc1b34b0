/// The values that the copy of a new tree appends next, compressed by two threads: that takes longer than all else that a compaction does.
final class ValuesAhead {
  private let copy: GenerationCopy
  private let dictionary: ValueDictionary
  /// Visits the tree's records in the order in which they are copied.
  private var records: DifferenceCursor
  private var isAtEnd = false
  private var batch: [Value] = []
  private var next = 0

  /// A value as it was put, and its stored form if that saves enough.
  struct Value: Sendable {
    fileprivate let offset: FileOffset
    let value: Bytes
    fileprivate(set) var stored: Bytes?
  }

  // A batch takes about a millisecond, so that a commit meanwhile waits no longer.
  private static let batchCount = 512
  private static let batchBytes = 512 << 10

  init(of records: DifferenceCursor, by dictionary: ValueDictionary, in copy: GenerationCopy) {
    self.records = records
    self.dictionary = dictionary
    self.copy = copy
  }

  /// The value of the entry at an offset, which is behind those taken before. Returns nil if the entry has none to be compressed.
  func value(at offset: FileOffset) throws(StorageError) -> Value? {
    while true {
      while next < batch.count {
        next += 1
        if batch[next - 1].offset == offset { return batch[next - 1] }
      }
      guard !isAtEnd else { return nil }
      batch = compressed(try values())
      next = 0
    }
  }

  private func values() throws(StorageError) -> [Value] {
    var values: [Value] = []
    var bytesLeft = Self.batchBytes
    while bytesLeft > 0, values.count < Self.batchCount {
      guard let found = try records.next() else {
        isAtEnd = true
        break
      }
      guard let reference = found.new?.payload.entry, copy.copiedEntry(reference) == nil else { continue }
      let (entry, bytes) = try copy.source.entry(reference)
      guard copy.keptValue(of: entry, bytes, by: dictionary) == nil else { continue }
      let value = try copy.source.rawValue(of: entry, bytes, at: reference.offset)
      values.append(Value(offset: reference.offset, value: value))
      bytesLeft -= value.count
    }
    return values
  }

  /// This thread compresses the first half, another one the second.
  private func compressed(_ values: [Value]) -> [Value] {
    let dictionary = dictionary
    let half = values.count / 2
    return workingAhead(by: 1) { queue in
      _ = queue.put(values[half...].map { $0.compressed(by: dictionary) })
    } use: { queue in
      values[..<half].map { $0.compressed(by: dictionary) } + (queue.next() ?? [])
    }
  }
}

extension ValuesAhead.Value {
  fileprivate func compressed(by dictionary: ValueDictionary) -> Self {
    var value = self
    value.stored = self.value.withUnsafeBytes { bytes in
      dictionary.withCompressed(bytes, .strong) { stored in stored.map { Bytes(copying: $0) } }
    }
    return value
  }
}

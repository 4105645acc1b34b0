// A compressed value is the number of its dictionary, its raw length, and a block. Nothing outside of the engine sees it.

extension DataFile {
  /// The value of an entry as it was put. `bytes`: those of the entry, which lies at `offset`.
  func rawValue(of entry: ChangeEntry, _ bytes: Bytes, at offset: FileOffset) throws(StorageError) -> Bytes {
    let stored = bytes[entry.valueRange]
    guard entry.isCompressed else { return stored }
    return try stored.withUnsafeBytes { stored throws(StorageError) in
      try decompressed(stored, at: offset &+ UInt64(entry.valueStart))
    }
  }

  private func decompressed(_ stored: UnsafeRawBufferPointer, at offset: FileOffset) throws(StorageError) -> Bytes {
    var reader = ByteReader(stored, what: "compressed value", offset: offset)
    let number = try reader.byte() & ~ValueDictionary.quick
    let count = try reader.varint()
    let dictionary = dictionaries?[number]
    guard number == 0 || dictionary != nil, count <= UInt64(ChangeEntry.largeValue) else {
      throw dictionaryDamage ?? reader.damage
    }
    let value = MemoryBlock(count: Int(count))
    guard decompress(reader.rest, with: dictionary?.bytes ?? [], into: value.bytes) else {
      throw .damaged(what: "compressed value", offset: offset)
    }
    return Bytes(value)
  }

  /// As `value`, in a file with compressed values.
  func unpackedValue(_ reference: EntryReference, isCopied: Bool) throws(StorageError) -> Bytes {
    var value: Bytes?
    let stored = try part(
      at: reference.offset, count: Int(reference.length), what: "change entry", isCopied: isCopied
    ) { bytes throws(StorageError) in
      let entry = try checkedEntry(bytes, reference)
      guard entry.kind != .delete else { throw .damaged(what: "record", offset: reference.offset) }
      guard entry.isCompressed else { return entry.valueRange }
      // Nothing but the value that is made of them outlives the stored bytes.
      value = try decompressed(
        UnsafeRawBufferPointer(rebasing: bytes[entry.valueRange]), at: reference.offset &+ UInt64(entry.valueStart))
      return 0..<0
    }
    return value ?? stored
  }
}

extension GenerationCopy {
  /// Appends the copy of an entry. Its value is compressed by its tree's dictionary, or copied as it is if that has been done.
  ///
  /// - Parameter ahead: the values that were compressed already.
  func append(
    _ head: ChangeEntry.Head, _ entry: ChangeEntry, _ bytes: Bytes, at offset: FileOffset,
    by dictionary: ValueDictionary?, ahead: ValuesAhead?, to draft: FrameDraft
  ) throws(StorageError) -> EntryReference {
    if let kept = keptValue(of: entry, bytes, by: dictionary) { return try draft.append(head, compressed: kept) }
    if let known = try ahead?.value(at: offset) {
      if let stored = known.stored { return try draft.append(head, compressed: stored) }
      return try known.value.withUnsafeBytes { value throws(StorageError) in try draft.append(head, value) }
    }
    return try source.rawValue(of: entry, bytes, at: offset).withUnsafeBytes { value throws(StorageError) in
      try draft.append(head, value, by: dictionary, .strong)
    }
  }

  /// The stored value of an entry if it may be copied as it is: it was compressed well, by a dictionary that the target has, too.
  func keptValue(of entry: ChangeEntry, _ bytes: Bytes, by dictionary: ValueDictionary?) -> Bytes? {
    guard entry.isCompressed, let dictionary, keptDictionaries.contains(dictionary.number) else { return nil }
    let stored = bytes[entry.valueRange]
    return !stored.isEmpty && stored[0] == dictionary.number ? stored : nil
  }
}

extension FrameDraft {
  /// Appends a put, with its value compressed if its tree has a dictionary and that saves enough.
  func append(
    _ head: ChangeEntry.Head, _ value: UnsafeRawBufferPointer, by dictionary: ValueDictionary?,
    _ effort: ValueDictionary.Effort = .fast
  ) throws(StorageError) -> EntryReference {
    guard let dictionary else { return try append(head, value) }
    return try dictionary.withCompressed(value, effort) { stored throws(StorageError) in
      var head = head
      head.isCompressed = stored != nil
      return try append(head, stored ?? value)
    }
  }

  fileprivate func append(_ head: ChangeEntry.Head, compressed stored: Bytes) throws(StorageError) -> EntryReference {
    var head = head
    head.isCompressed = true
    return try stored.withUnsafeBytes { stored throws(StorageError) in try append(head, stored) }
  }
}

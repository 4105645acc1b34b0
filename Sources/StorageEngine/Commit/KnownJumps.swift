/// The jumps of commits that were made or looked up lately. A new commit needs those of others, nearly always of near ones.
struct KnownJumps {
  private struct Known {
    var offset: FileOffset = 0
    var ancestry: CommitLink?
    var order: CommitLink?
  }

  /// Each commit has one place, which it shares with others.
  private var known = [Known](repeating: Known(), count: positions)
  private static let positions = 128

  mutating func note(_ record: CommitRecord) {
    known[position(record.number)] = Known(
      offset: record.links.own.offset, ancestry: record.links.ancestry.jump, order: record.links.order.jump)
  }

  /// The jump of a commit, among its ancestors or in the order of the file. Reads its record where it is not known.
  mutating func jump(of link: CommitLink, isOrder: Bool, in file: DataFile) throws(StorageError) -> CommitLink? {
    if known[position(link.number)].offset != link.offset { note(try file.record(link)) }
    let found = known[position(link.number)]
    return isOrder ? found.order : found.ancestry
  }

  private func position(_ number: UInt64) -> Int { Int(truncatingIfNeeded: number % UInt64(Self.positions)) }
}

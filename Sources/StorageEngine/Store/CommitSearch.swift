/// Finding commits by number and by date along jump pointers.
struct CommitSearch {
  let file: DataFile
  let newest: CommitRecord

  /// A commit of this file by its number. At most about 2 log₂ n frame reads.
  func commit(_ number: UInt64) throws(StorageError) -> CommitRecord {
    if number == newest.number { return newest }
    if number == 0 { return .beginning(of: file.header) }
    guard number < newest.number else { throw .noSuchCommit(number: number) }
    var record = newest
    while record.number > number {
      guard let link = record.links.order.step(towards: { $0.number <= number }) else {
        throw .prunedCommit(number: number, nearest: record.number)
      }
      let next = try file.record(link)
      // Numbers fall with each step, so that no damage makes the walk endless.
      guard next.number < record.number else {
        throw .damaged(what: "link to a commit", offset: record.links.own.offset)
      }
      if next.number < number {
        let isNearer = number - next.number <= record.number - number
        throw .prunedCommit(number: number, nearest: isNearer ? next.number : record.number)
      }
      record = next
    }
    return record
  }

  /// The newest commit at or before `start`, along first parents, that `isWanted`; wanted must be all those before some
  /// point. Nil where there is none.
  func ancestor(of start: CommitRecord, where isWanted: (CommitLink) -> Bool) throws(StorageError) -> CommitRecord? {
    var record = start
    while !isWanted(record.links.own) {
      guard let link = record.links.ancestry.step(towards: isWanted) else { return nil }
      let next = try file.record(link)
      guard next.number < record.number else {
        throw .damaged(what: "link to a commit", offset: record.links.own.offset)
      }
      record = next
    }
    return record
  }
}

extension Verifier {
  /// Checks the statements of commits about one another: parents, jumps, head, names; and that time does not run backwards.
  mutating func checkLinks() throws(StorageError) {
    for frame in survey.frames {
      guard let record = commits[frame.header.number] else { continue }
      checkParents(of: record, frame)
      checkJumps(along: \.ancestry, of: record, frame)
      checkJumps(along: \.order, of: record, frame)
      if record.links.head.number > 0 { check(record.links.head, "head", of: record, frame) }
      if let restore = record.links.lastRestore { check(restore, "restore", of: record, frame) }
    }
  }

  private mutating func checkParents(of record: CommitRecord, _ frame: FrameSurvey.Frame) {
    for parent in record.links.parents {
      check(parent, "parent", of: record, frame)
      if parent.date > record.date {
        damage(record, frame, "it is dated earlier than its parent #\(parent.number)")
      }
    }
    if let previous = record.links.order.previous {
      check(previous, "frame before", of: record, frame, depth: \.orderDepth)
      if let before = survey.frame(number: previous.number),
        before.offset != previous.offset || before.end != frame.offset
      {
        damage(record, frame, "it names another frame before it than the file has")
      }
    }
  }

  /// Checks that jumps are where Myers's rule puts them.
  private mutating func checkJumps(
    along path: KeyPath<CommitLinks, Lineage>, of record: CommitRecord, _ frame: FrameSurvey.Frame
  ) {
    let lineage = record.links[keyPath: path]
    guard let previous = lineage.previous else {
      if lineage.jump != nil || lineage.previousJump != nil {
        damage(record, frame, "a first commit jumps to an earlier one")
      }
      return
    }
    guard let before = commits[previous.number] else { return }
    let its = before.links[keyPath: path]
    var expected: CommitLink? = previous
    if let near = its.jump, let middle = commits[near.number], let far = middle.links[keyPath: path].jump,
      previous.depth &- near.depth == near.depth &- far.depth
    {
      expected = far
    }
    if let near = its.jump, commits[near.number] == nil { return }
    if lineage.jump != expected || lineage.previousJump != its.jump {
      damage(record, frame, "its way to its ancestors leads elsewhere")
    }
  }

  private mutating func check(
    _ link: CommitLink, _ what: String, of record: CommitRecord, _ frame: FrameSurvey.Frame,
    depth: KeyPath<CommitLinks, UInt64> = \.own.depth
  ) {
    guard link.number <= record.number, let target = survey.frame(number: link.number) else {
      // A lost commit is reported already.
      let isLost = survey.gaps.contains { $0.contains(link.offset) }
      if !isLost {
        damage(record, frame, "its \(what) #\(link.number) is not in the file")
      }
      return
    }
    guard let commit = commits[link.number] else { return }
    if target.offset != link.offset || commit.date != link.date || commit.links[keyPath: depth] != link.depth {
      damage(record, frame, "its \(what) #\(link.number) is not where and what it says")
    }
  }
}

extension Verifier {
  /// What commits say of one another: parents, jumps, head, names; and that time does not run backwards.
  mutating func checkLinks() throws(StorageError) {
    for frame in survey.frames {
      guard let record = commits[frame.header.number] else { continue }
      checkParents(of: record, frame)
      checkJumps(
        record.links.ancestry, of: record, frame, depth: { $0.links.own.depth }, lineage: { $0.links.ancestry })
      checkJumps(record.links.order, of: record, frame, depth: { $0.links.orderDepth }, lineage: { $0.links.order })
      let head = record.links.head
      if head.number > 0 { check(head, "head", of: record, frame) { $0.links.own.depth } }
      if let restore = record.links.lastRestore { check(restore, "restore", of: record, frame) { $0.links.own.depth } }
    }
  }

  private mutating func checkParents(of record: CommitRecord, _ frame: FrameSurvey.Frame) {
    for parent in record.links.parents {
      check(parent, "parent", of: record, frame) { $0.links.own.depth }
      if parent.date > record.date {
        damage(record, frame, "it is dated earlier than its parent #\(parent.number)")
      }
    }
    if let previous = record.links.order.previous {
      check(previous, "frame before", of: record, frame) { $0.links.orderDepth }
      if let before = survey.frame(number: previous.number),
        before.offset != record.links.order.previous?.offset
          || before.end != frame.offset
      {
        damage(record, frame, "it names another frame before it than the file has")
      }
    }
  }

  /// Jumps are where Myers's rule puts them.
  private mutating func checkJumps(
    _ lineage: Lineage, of record: CommitRecord, _ frame: FrameSurvey.Frame, depth: (CommitRecord) -> UInt64,
    lineage lineageOf: (CommitRecord) -> Lineage
  ) {
    guard let previous = lineage.previous else {
      if lineage.jump != nil || lineage.previousJump != nil {
        damage(record, frame, "a first commit jumps to an earlier one")
      }
      return
    }
    guard let before = commits[previous.number] else { return }
    let its = lineageOf(before)
    var expected: CommitLink? = previous
    if let near = its.jump, let middle = commits[near.number], let far = lineageOf(middle).jump,
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
    depth: (CommitRecord) -> UInt64
  ) {
    guard link.number <= record.number, let target = survey.frame(number: link.number) else {
      // A commit that is lost is told of already.
      let isLost = survey.gaps.contains { $0.contains(link.offset) }
      if !isLost {
        damage(record, frame, "its \(what) #\(link.number) is not in the file")
      }
      return
    }
    guard let commit = commits[link.number] else { return }
    if target.offset != link.offset || commit.date != link.date || depth(commit) != link.depth {
      damage(record, frame, "its \(what) #\(link.number) is not where and what it says")
    }
  }
}

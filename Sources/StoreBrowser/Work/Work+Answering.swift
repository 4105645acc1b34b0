package import DatastoreModel

extension Work {
  /// Does the work. Blocks; call it from a thread that may wait.
  package func answer(in context: WorkContext) throws(ModelError) -> Answer {
    switch self {
    case .ask(let question): .reply(try question.reply(in: context))
    case .outline(let commit): .outline(try context.outline(at: commit), context.standing)
    case .refresh(let since, let shown): .refreshed(try context.refresh(since: since, shown: shown))
    case .table(let request): .table(try context.openTable(request))
    case .rows(let request): .rows(try context.rows(request))
    case .record(let request): .record(try context.record(request))
    case .gather(let request): .gathered(try context.gather(request))
    case .search(let request): .found(try context.search(request))
    case .filter(let request): .filtered(try context.filter(request))
    case .sort(let request): .sorted(try context.sort(request))
    case .history(let request): .history(try context.history(request))
    case .changes(let request): .changes(try context.changes(request))
    case .fields(let request): .fields(try context.fields(request))
    case .blame(let request): .blame(try context.blame(request))
    case .resolve(let name, let purpose): .resolved(try context.store.resolve(name), for: purpose)
    case .step(let from, let lines, let head):
      .resolved(try context.step(from: from, by: lines, head: head), for: .travel)
    case .keys(let request): .keys(try context.keys(request))
    case .range(let request): .range(try context.range(request))
    case .verifyIndex(let request): .verified(try context.verify(request))
    case .referrers(let request): .referrers(try context.referrers(request))
    case .changeIndex(let change, let datastore, let leavingOut, let mending):
      try context.change(change, of: datastore, leavingOut: leavingOut, mending: mending)
    case .review(let request): .review(try context.review(request))
    case .commit(let request): .committed(try context.commit(request), request)
    case .undoCandidate(let isRedo):
      .undoCandidate(
        try isRedo ? context.editable().redoCandidate() : context.editable().undoCandidate(), isRedo: isRedo)
    case .pin(let name, let commit): .pinned(try context.pin(name, to: commit))
    case .bulk(let request): .bulk(try context.bulk(request))
    case .export(let request): .exported(try context.export(request))
    case .editedDocuments(let request): .editedDocuments(try context.edits(of: request))
    case .identify(let datastore, let text, let commit):
      .identified(try context.identify(datastore: datastore, text: text, commit: commit))
    case .saveStaged(let staged): try context.saved { () throws(ModelError) in try context.files.save(staged) }
    case .loadStaged(let descriptors):
      try context.files.loadStaged(descriptors) { context.report(Progress(done: 0, total: $0)) }
    case .loadRemembered: .remembered(try context.files.loadRemembered() ?? Remembered())
    case .saveRemembered(let remembered):
      try context.saved { () throws(ModelError) in try context.files.save(remembered) }
    case .warmUp(let leavingOut, let mending):
      .warmedUp(try context.warmUp(leavingOut: leavingOut, mending: mending))
    case .rewrite(let rewrite): .rewritten(rewrite, try context.rewrite(rewrite))
    }
  }
}

extension WorkContext {
  fileprivate func saved(_ save: () throws(ModelError) -> Void) throws(ModelError) -> Answer {
    try save()
    return .saved
  }

  func pin(_ name: String, to commit: CommitNumber?) throws(ModelError) -> [Pin] {
    try editable().pin(name, to: commit)
    return try store.pins
  }
}

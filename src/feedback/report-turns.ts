import type { IncomingReport, IncomingReports, ReportPurpose } from './incoming-reports.ts'

/**
 * Whose reports of one purpose are taken next: by turns, one network that they come from after the other, and in between one
 * account after the other whose mail they are about. Whoever floods one account from many networks, or many accounts from one
 * network, has one of the two against him: a report waits for one turn of each other network, or of each other account,
 * whichever comes first.
 */
export class ReportTurns {
  readonly #reports: Pick<IncomingReports, 'nextSource' | 'waitingFrom'>
  readonly #purpose: ReportPurpose
  #by: 'network' | 'account' = 'account'
  /** Who had the last turn. */
  readonly #last = { network: '', account: '' }

  constructor(reports: Pick<IncomingReports, 'nextSource' | 'waitingFrom'>, purpose: ReportPurpose) {
    this.#reports = reports
    this.#purpose = purpose
  }

  /** The oldest reports, at most `limit`, of who is next; null where a round is over: each network has had its turn. */
  async next(limit: number): Promise<IncomingReport[] | null> {
    this.#by = this.#by === 'account' ? 'network' : 'account'
    const by = this.#by
    const name = (await this.#after(this.#last[by])) ?? (by === 'account' ? await this.#after('') : null)
    this.#last[by] = name ?? ''
    if (name !== null) return this.#reports.waitingFrom(this.#purpose, { by, name }, limit)
    return by === 'network' ? null : []
  }

  #after(name: string): Promise<string | null> {
    return this.#reports.nextSource(this.#purpose, { by: this.#by, name })
  }
}

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { SystemMailer } from '../../mail-in/submission/system-mail.ts'
import type { BaseServices } from '../../platform/base-services.ts'
import { newId } from '../../platform/id.ts'
import type { Resolver } from '../../platform/resolver.ts'
import { ConflictError, type Statement } from '../../platform/store/database.ts'
import { isTransientFault } from '../../platform/store/work-loop.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'
import { isSuccess, type WebhookPoster } from '../webhook/post-webhook.ts'
import { composeReportMail, reportType } from './compose-report-mail.ts'
import { mailboxOf, reportAddresses } from './report-request.ts'
import { signingDomain } from './signing-domain.ts'
import { dayMs, sessionsIn, tlsReport } from './tls-report.ts'
import {
  changeReport,
  destinationsOf,
  dropReport,
  dropSessions,
  dueReports,
  planReport,
  sessionsOf,
  unplanned,
  type Destination,
  type TlsReportRow,
} from './tls-report-store.ts'

interface RunnerServices extends Pick<BaseServices, 'db' | 'clock' | 'log'> {
  resolver: Pick<Resolver, 'txt'>
  sendingDomains: Pick<SendingDomains, 'find' | 'senderDomain'>
  systemMail: Pick<SystemMailer, 'send' | 'newMessageId'>
  poster: Pick<WebhookPoster, 'post'>
  /** 0 … 1 */
  random(): number
}

interface RunnerSettings {
  organization: string
  contact: string
  /** The address that reports come from. */
  sender: string
}

const minute = 60_000
const hour = 60 * minute
/** By then every node has written what it has counted. */
const settledMs = 10 * minute
/** Not all senders at once (RFC 8460 4.1). */
const spreadMs = 4 * hour
/** How long a report is tried (RFC 8460 5.5). */
const triedMs = 24 * hour
const [firstWaitMs, maxWaitMs] = [5 * minute, 4 * hour]
/** How long a turn goes on taking reports, ms; the next begins a minute after it. */
const turnMs = 50_000
/** In one turn of a minute. */
const maxPlanned = 10_000
const maxDue = 1_000
const atOnce = 10

const pack = promisify(gzip)

/**
 * Sends reports on TLS (RFC 8460) to the domains that ask for them, for each day (UTC) that is over. One node does this for all. What
 * became of a report is written after each step, and its mail in the batch that accepts that. So a report goes out once; only one that was
 * being posted when its node died is posted again, under the same report-id.
 */
export class TlsReportRunner {
  readonly #services: RunnerServices
  readonly #settings: RunnerSettings

  constructor(services: RunnerServices, settings: RunnerSettings) {
    this.#services = services
    this.#settings = settings
  }

  /** Plans what can be planned, and sends what is due. Call it every minute. What there is no time for stays due. */
  async run(): Promise<void> {
    await this.#plan()
    const { db, clock } = this.#services
    const beganAt = clock.now()
    const due = (await dueReports(db, beganAt, maxDue)).values()
    const takeSome = async (): Promise<void> => {
      for (const row of due) {
        if (clock.now() >= beganAt + turnMs) return
        await this.#take(row)
      }
    }
    const ends = await Promise.allSettled(Array.from({ length: atOnce }, takeSome))
    const failed = ends.find((end) => end.status === 'rejected')
    if (failed) throw failed.reason
  }

  async #plan(): Promise<void> {
    const { db, clock, random } = this.#services
    const now = clock.now()
    const days = await unplanned(db, Math.floor((now - settledMs) / dayMs), maxPlanned)
    const plans = days.map((each) => planReport(newId('tlr', now), each, now + Math.round(random() * (spreadMs - settledMs))))
    for (let i = 0; i < plans.length; i += maxDue) await db.write(plans.slice(i, i + maxDue), { mayBatch: true })
  }

  async #take(row: TlsReportRow): Promise<void> {
    const { log } = this.#services
    try {
      const made = row.report === null ? await this.#make(row) : row
      if (made) await this.#send(made)
    } catch (error) {
      // Another node has taken over, or somebody has asked for it at the same time.
      if (error instanceof ConflictError) return
      if (isTransientFault(error)) throw error
      log.error({ domain: row.domain, error }, 'a report on TLS could not be sent; this is tried again')
      await this.#later(row)
    }
  }

  /** Asks whether the domain wants it, and makes it. Null if it does not, or the DNS gives no answer. */
  async #make(row: TlsReportRow): Promise<TlsReportRow | null> {
    const { db, resolver } = this.#services
    const { status, records } = await resolver.txt(`_smtp._tls.${row.domain}`)
    if (status === 'servfail') return this.#later(row)
    const addresses = reportAddresses(records)
    const counted = addresses.length === 0 ? [] : await sessionsOf(db, row.day, row.domain)
    if (counted.length === 0) {
      await db.write(dropReport(row), { mayBatch: true })
      return null
    }
    const report = tlsReport({ id: row.id, day: row.day, ...this.#settings }, counted)
    const destinations = addresses.map((uri): Destination => ({ uri, state: 'due', reason: null, emailId: null }))
    const sessions = sessionsIn(counted)
    const failures = sessionsIn(counted.filter(({ failure }) => failure))
    const made = { ...row, report: JSON.stringify(report), destinations: JSON.stringify(destinations), sessions, failures }
    return this.#change(row, made, [dropSessions(row.day, row.domain)])
  }

  async #send(row: TlsReportRow): Promise<void> {
    const packed = await pack(row.report ?? '')
    let current = row
    for (const [i, destination] of destinationsOf(row).entries()) {
      if (destination.state === 'due') current = await this.#sendTo(current, i, packed)
    }
    if (destinationsOf(current).some(({ state }) => state === 'due')) await this.#later(current)
    else await this.#change(current, { ...current, state: 'sent', due_at: null })
  }

  /** A fault with one destination does not keep the report from the others. */
  async #sendTo(row: TlsReportRow, i: number, packed: Uint8Array): Promise<TlsReportRow> {
    const mailbox = mailboxOf(destinationsOf(row)[i]?.uri ?? '')
    try {
      return mailbox === null ? await this.#post(row, i, packed) : await this.#mail(row, i, { mailbox, packed })
    } catch (error) {
      if (error instanceof ConflictError || isTransientFault(error)) throw error
      this.#services.log.error(
        { domain: row.domain, error },
        'a report on TLS could not be sent to one of its addresses; this is tried again',
      )
      return this.#note(row, i, { reason: 'This server could not send it; its log says why.' })
    }
  }

  /** Accepts the mail that carries it, together with the note that this was done. */
  async #mail(row: TlsReportRow, i: number, { mailbox: to, packed }: { mailbox: string; packed: Uint8Array }): Promise<TlsReportRow> {
    const { sendingDomains, systemMail } = this.#services
    const { sender, organization } = this.#settings
    const domain = signingDomain(sender, sendingDomains)
    if (!domain) return this.#note(row, i, { reason: `No domain of this server signs mail from ${sender}.` })
    const mail = composeReportMail({ to, domain: row.domain, submitter: domain.name, id: row.id, day: row.day, packed })
    const emailId = systemMail.newMessageId()
    const after = noted(row, i, { state: 'sent', reason: null, emailId })
    const from = { address: sender, name: organization }
    await systemMail.send({ ...mail, sender: { from, domainId: domain.id } }, [changeReport(row, after)], emailId)
    return after
  }

  async #post(row: TlsReportRow, i: number, packed: Uint8Array): Promise<TlsReportRow> {
    const { poster } = this.#services
    const headers = { 'content-type': reportType, 'user-agent': 'Sterna' }
    const result = await poster.post({ url: destinationsOf(row)[i]?.uri ?? '', headers, body: packed })
    const answered = `The server answered ${result.statusCode ?? ''}.`
    return this.#note(row, i, isSuccess(result) ? { state: 'sent', reason: null } : { reason: result.error ?? answered })
  }

  #note(row: TlsReportRow, i: number, change: Partial<Destination>): Promise<TlsReportRow> {
    return this.#change(row, noted(row, i, change))
  }

  /** Plans the next try, or gives up. */
  async #later(row: TlsReportRow): Promise<null> {
    const now = this.#services.clock.now()
    const [firstAt, tries] = [row.first_at ?? now, row.tries + 1]
    const dueAt = now + Math.min(maxWaitMs, firstWaitMs * 2 ** row.tries)
    const isOver = dueAt > firstAt + triedMs
    await this.#change(row, { ...row, first_at: firstAt, tries, due_at: isOver ? null : dueAt, state: isOver ? 'failed' : 'due' })
    return null
  }

  async #change(before: TlsReportRow, after: TlsReportRow, alsoWrite: Statement[] = []): Promise<TlsReportRow> {
    await this.#services.db.write([changeReport(before, after), ...alsoWrite])
    return after
  }
}

const noted = (row: TlsReportRow, place: number, change: Partial<Destination>): TlsReportRow => ({
  ...row,
  destinations: JSON.stringify(destinationsOf(row).map((each, i) => (i === place ? { ...each, ...change } : each))),
})

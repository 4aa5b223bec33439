import type { Accounts } from '../account/accounts.ts'
import type { CancelTimer, Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { SendingDomains } from '../sending-domain/sending-domains.ts'
import { domainOf } from '../smtp/address.ts'
import { BusyError, StorageFullError, type Database, type Statement } from '../store/database.ts'
import type { SystemMailer } from '../submission/system-mail.ts'
import { askedFor } from './asked-for.ts'
import { composeNotice } from './compose-notice.ts'
import type { NoticeAction } from './notice.ts'
import { bounceOf, noticeOf, type Told } from './notice-of.ts'
import {
  alreadyTold,
  createCursor,
  dropWarning,
  dueWarnings,
  firstChunk,
  firstWarningAt,
  insertNotice,
  lastAttempts,
  moveCursor,
  newsBetween,
  planWarning,
  readPositions,
  settleWarning,
  type NewsRow,
  type ToldRow,
} from './notice-store.ts'

interface NoticeParts {
  db: Database
  clock: Clock
  log: Log
  accounts: Pick<Accounts, 'someWantNotices'>
  systemMail: Pick<SystemMailer, 'send' | 'newMessageId' | 'from'>
  sendingDomains: Pick<SendingDomains, 'verifiedDomainFor'>
}

interface NoticeSettings {
  hostname: string
  /** How old a message is when its submitter is warned that it is late, ms; 0: never. */
  delayAfterMs: number
}

/** Events of one step, and warnings of one turn: they bound what is in memory. */
const stepSize = 500
/** What comes to pass within so long goes into one notice, ms. */
const gatherMs = 300
/** When something that failed for a reason of ours (a full disk, say) is tried again, ms. */
const againMs = 1_000

/** Recipients of one message that share a notice. */
interface Group {
  action: NoticeAction
  told: [Told, ...Told[]]
}

/**
 * Tells those who submit by SMTP what became of their mail, at the reverse-path they gave and as their NOTIFY says
 * (RFC 3461). Off unless an account wants it, and only to addresses at domains that are verified for that account: mail
 * to anybody else would be backscatter.
 *
 * What was told is kept in the same batch as the notice, and the cursor in the event log moves after it, so each thing
 * is told once whatever happens in between.
 */
export class NoticeRunner {
  readonly #parts: NoticeParts
  readonly #settings: NoticeSettings
  #timer: NodeJS.Timeout | undefined
  #cancelWarnings: CancelTimer = () => {}
  #work: Promise<void> | null = null
  #isUnread = false
  #isRunning = false

  constructor(parts: NoticeParts, settings: NoticeSettings) {
    this.#parts = parts
    this.#settings = settings
  }

  /** Takes up what the last process left. */
  async start(): Promise<void> {
    await this.#parts.db.write([createCursor])
    this.#isRunning = true
    this.#wake(0)
  }

  /** Begins nothing new and waits for what is under way. */
  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#timer)
    this.#cancelWarnings()
    await this.#work
  }

  /** To be called after events were written; costs nothing while no account wants notices. */
  eventsWritten(): void {
    if (this.#parts.accounts.someWantNotices) this.#wake(gatherMs)
  }

  #wake(ms: number): void {
    this.#isUnread = true
    if (!this.#isRunning || this.#work || this.#timer) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#work = this.#run().finally(() => {
        this.#work = null
        if (this.#isUnread) this.#wake(gatherMs)
      })
    }, ms).unref()
  }

  async #run(): Promise<void> {
    this.#isUnread = false
    try {
      await this.#readLog()
      await this.#warn()
      await this.#arm()
    } catch (error) {
      this.#parts.log.error({ error }, 'delivery notices could not be made; trying again')
      this.#cancelWarnings()
      this.#cancelWarnings = this.#parts.clock.at(this.#parts.clock.now() + againMs, () => this.#wake(0))
    }
  }

  /** When the next warning is due. */
  async #arm(): Promise<void> {
    this.#cancelWarnings()
    const dueAt = await firstWarningAt(this.#parts.db)
    if (dueAt !== null && this.#isRunning) this.#cancelWarnings = this.#parts.clock.at(dueAt, () => this.#wake(0))
  }

  async #readLog(): Promise<void> {
    const { db } = this.#parts
    const found = await readPositions(db)
    if (!found || found.after === null) return
    let { position } = found
    // Up to where the first account has turned notices on nothing concerns anybody.
    for (let from = Math.max(position, found.after); from < found.newest && this.#isRunning;) {
      const to = Math.min(found.newest, from + stepSize)
      const warnings = await this.#tell(await newsBetween(db, from, to))
      if (!warnings) return
      await db.write([moveCursor(position, to), ...warnings], { patient: true })
      position = to
      from = to
    }
  }

  /** Sends what is to be told at once; gives the statements that plan the warnings, or null where it was stopped before the end. */
  async #tell(news: NewsRow[]): Promise<Statement[] | null> {
    const { delayAfterMs } = this.#settings
    const warnings: Statement[] = []
    const groups = new Map<string, Group>()
    for (const row of news) {
      const action = this.#mayTell(row) ? askedFor(row.type, row.notify) : null
      if (action === 'delayed') {
        if (delayAfterMs > 0) warnings.push(planWarning(row.recipient_id, row.message_id, startOf(row) + delayAfterMs))
        continue
      }
      if (action !== null) addTo(groups, action, { row, bounce: bounceOf(row) })
    }
    for (const group of groups.values()) {
      if (!this.#isRunning) return null
      await this.#tellGroup(group)
    }
    return warnings
  }

  async #tellGroup({ action, told }: Group): Promise<void> {
    const messageId = told[0].row.message_id
    const before = await alreadyTold(this.#parts.db, messageId)
    const [first, ...others] = told.filter(({ row }) => !before.has(`${row.recipient_id} ${action}`))
    if (!first) return
    await this.#send({ action, told: [first, ...others] }, (noticeMessageId, { row }) =>
      insertNotice({ recipientId: row.recipient_id, action, messageId, noticeMessageId }),
    )
  }

  async #warn(): Promise<void> {
    const { db, clock } = this.#parts
    for (let due = stepSize; due === stepSize && this.#isRunning;) {
      const rows = await dueWarnings(db, clock.now(), stepSize)
      due = rows.length
      const groups = new Map<string, Group>()
      const over: Statement[] = []
      for (const row of rows) {
        const isWanted = row.notices_after !== null && (row.state === 'deferred' || row.state === 'queued') && this.#mayTell(row)
        if (isWanted) addTo(groups, 'delayed', { row, bounce: null })
        else over.push(dropWarning(row.recipient_id))
      }
      for (const group of groups.values()) {
        if (!this.#isRunning) return
        const isSent = await this.#send(group, (id, { row }) => settleWarning(row.recipient_id, id))
        if (!isSent) over.push(...group.told.map(({ row }) => dropWarning(row.recipient_id)))
      }
      if (over.length > 0) await db.write(over, { patient: true })
    }
  }

  /** Only to whom the submitter proved to be. */
  #mayTell({ account_id: accountId, reverse_path: reversePath }: ToldRow): boolean {
    return this.#parts.sendingDomains.verifiedDomainFor(accountId, domainOf(reversePath)) !== null
  }

  /** Hands the notice over, with what keeps it from being sent again. False where it cannot be made. */
  async #send({ action, told }: Group, keep: (noticeMessageId: string, told: Told) => Statement): Promise<boolean> {
    const { db, log, systemMail } = this.#parts
    const { message_id: messageId, reverse_path: to } = told[0].row
    const kept = { firstChunk: await firstChunk(db, messageId), lastAttempts: await lastAttempts(db, messageId) }
    const notice = noticeOf(action, told, kept)
    const id = systemMail.newMessageId()
    const mail = composeNotice(notice, to, { hostname: this.#settings.hostname, operator: systemMail.from.address })
    try {
      await systemMail.send(
        mail,
        told.map((one) => keep(id, one)),
        id,
      )
      log.debug({ messageId, noticeMessageId: id, action, recipients: told.length }, 'delivery notice accepted')
      return true
    } catch (error) {
      if (error instanceof StorageFullError || error instanceof BusyError) throw error
      // One that cannot be made must not keep the others from being told.
      log.error({ messageId, action, error }, 'a delivery notice could not be accepted')
      return false
    }
  }
}

function addTo(groups: Map<string, Group>, action: NoticeAction, told: Told): void {
  const key = `${told.row.message_id} ${action}`
  const group = groups.get(key)
  if (!group) groups.set(key, { action, told: [told] })
  else if (!group.told.some(({ row }) => row.recipient_id === told.row.recipient_id)) group.told.push(told)
}

/** From when on it could be delivered. */
const startOf = ({ created_at: createdAt, scheduled_at: scheduledAt }: ToldRow): number => Math.max(createdAt, scheduledAt ?? 0)

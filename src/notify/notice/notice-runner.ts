import type { BaseServices } from '../../platform/base-services.ts'
import type { AccountPolicies } from '../../senders/account/account-policies.ts'
import { deliveryNotices } from '../../senders/account/account-policy.ts'
import type { CancelTimer } from '../../platform/clock.ts'
import { LogReader } from '../../mail/event/log-reader.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'
import { storedTransfer } from '../../mail/message/transfer-options.ts'
import { domainOf } from '../../platform/smtp/address.ts'
import type { Statement } from '../../platform/store/database.ts'
import { isTransientFault } from '../../platform/store/work-loop.ts'
import type { SystemMailer } from '../../mail-in/submission/system-mail.ts'
import { askedFor } from './asked-for.ts'
import { composeNotice } from './compose-notice.ts'
import type { NoticeAction } from './notice.ts'
import { bounceOf, noticeOf, type Told } from './notice-of.ts'
import {
  alreadyTold,
  dropWarning,
  dueWarnings,
  firstChunk,
  firstWarningAt,
  insertNotice,
  lastAttempts,
  newsBetween,
  planWarning,
  settleWarning,
  wantsNotices,
  type NewsRow,
  type ToldRow,
} from './notice-store.ts'

interface NoticeServices extends Pick<BaseServices, 'db' | 'clock' | 'log'> {
  policies: Pick<AccountPolicies, 'anywhere'>
  systemMail: Pick<SystemMailer, 'send' | 'newMessageId' | 'from'>
  sendingDomains: Pick<SendingDomains, 'verifiedDomainFor'>
}

interface NoticeSettings {
  hostname: string
  /** The age at which a delayed message causes a warning, ms; 0: never. */
  delayAfterMs: number
}

/** Events per step, and warnings per turn. Bounds memory. */
const stepSize = 500
/** ms; what happens within this time goes into one notice */
const gatherMs = 300

/** Recipients of one message that share a notice. */
interface Group {
  action: NoticeAction
  told: [Told, ...Told[]]
}

/**
 * Sends delivery notices to those who submit over SMTP: to their reverse-path, as their NOTIFY parameters request (RFC 3461). Off by
 * default per account. Sends only to addresses at the account's verified domains, because mail to anybody else would be backscatter.
 *
 * Each notice is recorded in the batch that accepts it, and the cursor in the event log moves afterwards. So everything is reported once,
 * whatever happens in between.
 */
export class NoticeRunner {
  readonly #services: NoticeServices
  readonly #settings: NoticeSettings
  readonly #log: LogReader
  #cancelWarnings: CancelTimer = () => {}
  #isRunning = false

  constructor(services: NoticeServices, settings: NoticeSettings) {
    this.#services = services
    this.#settings = settings
    this.#log = new LogReader(services, {
      cursor: 'notice',
      fault: 'delivery notices could not be created',
      // Skips the events from before the first account turned notices on.
      since: `select min(since) from account_policy where ${wantsNotices('account_policy')}`,
      maxEvents: stepSize,
      gatherMs,
      isWanted: () => services.policies.anywhere(deliveryNotices).some(({ wanted }) => wanted),
      take: async (step) => ({ statements: await this.#tell(await newsBetween(services.db, step)) }),
      atEnd: () => this.#warn(),
    })
  }

  /** Continues what the last process left. */
  async start(): Promise<void> {
    this.#isRunning = true
    await this.#log.start()
  }

  /** Starts nothing new and waits for what is under way. */
  async stop(): Promise<void> {
    this.#isRunning = false
    this.#cancelWarnings()
    await this.#log.stop()
  }

  /** Sends the notices for these events. Returns the statements that plan warnings, or null if stopped before the end. */
  async #tell(news: NewsRow[]): Promise<Statement[] | null> {
    const { delayAfterMs } = this.#settings
    const warnings: Statement[] = []
    const groups = new Map<string, Group>()
    for (const row of news) {
      const action = this.#mayTell(row) ? askedFor(row.type, row.notify) : null
      if (action === 'delayed') {
        const dueAt = warningAt(row, delayAfterMs)
        if (dueAt !== null) warnings.push(planWarning(row.recipient_id, row.message_id, dueAt))
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
    const before = await alreadyTold(this.#services.db, messageId)
    const [first, ...others] = told.filter(({ row }) => !before.has(`${row.recipient_id} ${action}`))
    if (!first) return
    await this.#send({ action, told: [first, ...others] }, (noticeMessageId, { row }) =>
      insertNotice({ recipientId: row.recipient_id, action, messageId, noticeMessageId }),
    )
  }

  /** Sends the warnings that are due, and schedules the next turn. */
  async #warn(): Promise<void> {
    this.#cancelWarnings()
    await this.#sendWarnings()
    const { db, clock } = this.#services
    const dueAt = await firstWarningAt(db)
    if (dueAt !== null && this.#isRunning) this.#cancelWarnings = clock.at(dueAt, () => this.#log.wake(0))
  }

  async #sendWarnings(): Promise<void> {
    const { db, clock } = this.#services
    for (let due = stepSize; due === stepSize && this.#isRunning;) {
      const rows = await dueWarnings(db, clock.now(), stepSize)
      due = rows.length
      const groups = new Map<string, Group>()
      const over: Statement[] = []
      for (const row of rows) {
        const isWanted = row.notices_since !== null && (row.state === 'deferred' || row.state === 'queued') && this.#mayTell(row)
        if (isWanted) addTo(groups, 'delayed', { row, bounce: null })
        else over.push(dropWarning(row.recipient_id))
      }
      for (const group of groups.values()) {
        if (!this.#isRunning) return
        const isSent = await this.#send(group, (id, { row }) => settleWarning(row.recipient_id, id))
        if (!isSent) over.push(...group.told.map(({ row }) => dropWarning(row.recipient_id)))
      }
      if (over.length > 0) await db.write(over, { mayBatch: true })
    }
  }

  /** Only to an address that the submitter has proved to own. */
  #mayTell({ account_id: accountId, reverse_path: reversePath }: ToldRow): boolean {
    return this.#services.sendingDomains.verifiedDomainFor(accountId, domainOf(reversePath)) !== null
  }

  /** Accepts the notice together with the records that prevent a second one. False if it cannot be composed. */
  async #send({ action, told }: Group, keep: (noticeMessageId: string, told: Told) => Statement): Promise<boolean> {
    const { db, log, systemMail } = this.#services
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
      if (isTransientFault(error)) throw error
      // One that cannot be composed must not hold up the others.
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

/** When a delayed message causes a warning: once it is late for its submitter (RFC 2852), else at the usual age. Null: never. */
function warningAt({ created_at: createdAt, scheduled_at: scheduledAt, transfer }: ToldRow, delayAfterMs: number): number | null {
  const by = storedTransfer(transfer)?.deliverBy
  if (by?.mode === 'N') return by.at
  return delayAfterMs > 0 ? Math.max(createdAt, scheduledAt ?? 0) + delayAfterMs : null
}

import type { BaseServices } from '../../platform/base-services.ts'
import type { AccountPolicies } from '../../senders/account/account-policies.ts'
import { harmLimits } from '../../senders/account/account-policy.ts'
import { type Account, accountAt, type Accounts } from '../../senders/account/accounts.ts'
import type { AuditLog } from '../../senders/account/audit-log.ts'
import type { Users } from '../../senders/account/users.ts'
import type { SystemMail, SystemMailer } from '../../mail-in/submission/system-mail.ts'
import type { LogReader } from '../../mail/event/log-reader.ts'
import { harmWindowMs } from '../../mail/suppression/note-harm.ts'
import { removeInPieces } from '../../platform/store/remove-in-pieces.ts'
import { composeOperatorMail, composeUserMail, type HarmNotice } from './compose-harm-mail.ts'
import { recentComplainants, recentHarm, recentlySent } from './harm-counts.ts'
import { judgeHarm, type Judgement } from './judge-harm.ts'

interface HarmWatchServices extends Pick<BaseServices, 'db' | 'clock' | 'log'> {
  accounts: Pick<Accounts, 'accountFor' | 'restrain'>
  policies: Pick<AccountPolicies, 'of'>
  users: Pick<Users, 'list'>
  audit: Pick<AuditLog, 'statementFor'>
  systemMail: Pick<SystemMailer, 'send'>
  rollup: Pick<LogReader, 'keepUp'>
}

interface HarmWatchSettings {
  baseUrl: string
  operatorEmail: string | null
}

/** How long an account is slowed, ms. */
const slowedMs = harmWindowMs

/**
 * Slows and suspends the accounts whose mail hard bounces, or is complained about, too often, and tells their users and the operator. Call
 * `look` about once a minute, at one node.
 */
export class HarmWatch {
  readonly #services: HarmWatchServices
  readonly #settings: HarmWatchSettings

  constructor(services: HarmWatchServices, settings: HarmWatchSettings) {
    this.#services = services
    this.#settings = settings
  }

  async look(): Promise<void> {
    const { db, clock, rollup } = this.#services
    const now = clock.now()
    const harm = await recentHarm(db, now)
    const suspects = [...harm].filter(([id, counts]) => this.#judge(id, { ...counts, sent: 0 }) !== null)
    // Who mails much may have many bounces: the analytics must first have counted all that was sent before these came.
    if (suspects.length > 0) await rollup.keepUp()
    for (const [id, counts] of suspects) {
      const [complaint, sent] = await Promise.all([recentComplainants(db, id, now), recentlySent(db, id, now)])
      const judged = this.#judge(id, { ...counts, complaint, sent })
      if (judged) await this.#restrain(judged.account, judged)
    }
    await removeInPieces(db, [
      {
        sql: `delete from account_harm where (account_id, kind, address) in (
                select account_id, kind, address from account_harm where happened_at <= :before limit :rows offset :skip)`,
        params: { before: now - harmWindowMs },
      },
    ])
  }

  #judge(id: string, counts: Parameters<typeof judgeHarm>[0]): (Judgement & { account: Account }) | null {
    const { accounts, policies, clock } = this.#services
    const account = accounts.accountFor(id)
    if (account?.status !== 'active') return null
    const judgement = judgeHarm(counts, policies.of(harmLimits, id))
    const isSlowed = accountAt(account, clock.now()).slowedUntil !== null
    return judgement === null || (isSlowed && !judgement.isSuspended) ? null : { ...judgement, account }
  }

  async #restrain(account: Account, { isSuspended, reason }: Judgement): Promise<void> {
    const { accounts, policies, audit, clock, log } = this.#services
    const slowedUntil = isSuspended ? null : clock.now() + slowedMs
    const record = audit.statementFor({
      accountId: account.id,
      actor: { type: 'server', id: null, name: 'server' },
      operation: isSuspended ? 'accounts.suspended' : 'accounts.slowed',
      objectId: account.id,
      fields: [],
      address: null,
      requestId: null,
    })
    if (!(await accounts.restrain(account, { slowedUntil, harm: reason }, [record]))) return
    log.warn({ accountId: account.id, reason }, isSuspended ? 'an account was suspended' : 'an account was slowed')
    const { slowedPerMinute } = policies.of(harmLimits, account.id)
    const { baseUrl: server } = this.#settings
    await this.#tell({ accountId: account.id, account: account.name, reason, slowedUntil, slowedPerMinute, server })
  }

  async #tell(notice: HarmNotice): Promise<void> {
    const { users } = this.#services
    const { operatorEmail } = this.#settings
    const owners = users.list(notice.accountId).filter(({ status, role }) => status === 'active' && (role === 'owner' || role === 'admin'))
    for (const { email } of owners) await this.#send(composeUserMail(email, notice))
    if (operatorEmail !== null) await this.#send(composeOperatorMail(operatorEmail, notice))
  }

  /** What was decided holds even if nobody can be told by mail: the dashboard and the doctor say it too. */
  async #send(mail: SystemMail): Promise<void> {
    const { systemMail, log } = this.#services
    await systemMail
      .send(mail)
      .catch((error: unknown) => log.error({ error }, 'the mail about an account that does harm could not be sent'))
  }
}

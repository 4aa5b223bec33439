import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { AccountPolicies } from '../senders/account/account-policies.ts'
import { Accounts } from '../senders/account/accounts.ts'
import { AuditLog } from '../senders/account/audit-log.ts'
import { ApiKeys } from '../senders/account/api-keys.ts'
import { MailQuotas } from '../senders/account/mail-quotas.ts'
import type { KeyRing } from '../senders/account/key-ring.ts'
import { PasswordHasher } from '../senders/account/password-hash.ts'
import type { GenerateDomainKeys } from '../senders/sending-domain/domain-keys.ts'
import { openPeople, type People } from '../senders/account/people.ts'
import { Backups } from '../upkeep/backup/backups.ts'
import type { BaseServices } from '../platform/base-services.ts'
import { clockOffset, isClockOff } from '../platform/clock-watch.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../platform/config/settings.ts'
import { signatureLifetimeMs } from '../mail-out/delivery/dkim-sign.ts'
import { policyFetcher } from '../mail-out/delivery/policy-fetcher.ts'
import { StsPolicies } from '../mail-out/mta-sts/sts-policies.ts'
import { smarthostGrantOf } from '../mail-out/oauth/smarthost-grant.ts'
import { SmarthostRoutes } from '../mail-out/smarthost/smarthost-routes.ts'
import { Smarthosts } from '../mail-out/smarthost/smarthosts.ts'
import { SmarthostTokens } from '../mail-out/oauth/smarthost-tokens.ts'
import { tokenFetcher } from '../mail-out/delivery/token-fetcher.ts'
import { dnsResolver, type DnsResolver } from '../platform/dns/dns-resolver.ts'
import { LargeWorker } from './large-work/large-worker.ts'
import { Health } from '../platform/health.ts'
import type { Log } from '../platform/log.ts'
import { MetricsPage } from '../platform/metrics/metrics-page.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import { noteMoved } from '../mail-out/queue/last-place.ts'
import { holdRestored } from '../mail-out/queue/restored-hold.ts'
import { SendingDomains, type SendingDomainSettings } from '../senders/sending-domain/sending-domains.ts'
import { isFullName } from '../platform/smtp/domain-name.ts'
import type { DamagedError } from '../platform/store/database.ts'
import { openStore } from '../platform/store/open-store.ts'
import type { Joining } from '../platform/store/nodes.ts'
import type { Store, Upgrade } from '../platform/store/store.ts'
import { Upkeep } from '../platform/store/upkeep.ts'
import { derivedFrom } from '../platform/key-generations.ts'
import { erasedAddressBy, type ErasedAddress } from '../mail/suppression/erased-address.ts'
import { OtherForms } from '../mail/suppression/suppression-list.ts'
import { TemplateList } from '../mail/template/template-list.ts'
import { followKey, openSecrets } from '../senders/account/open-secrets.ts'

/** What the environment provides to a process. */
export interface Environment {
  clock: Clock
  log: Log
  /** Called once when the database can no longer be trusted: the process must end, with a failure. */
  onFatal(error: Error): void
  /** Opens the store; default: `openStore`. */
  open?: typeof openStore
  /** How long to wait for a database lock that another process holds, ms; default 5 s. */
  busyTimeoutMs?: number | undefined
  /** Bytes that may wait for the continuous copy; default: there is no such copy. */
  copyLimit?: number | undefined
  /** What becomes of a database with an older schema; default: it is upgraded. */
  olderSchema?: 'upgrade' | 'refuse'
  /** True if the directory is only there to check a database that will be moved; default: no. */
  isStaging?: boolean
  /** True for a command, which is there beside those that serve; default: no. */
  isCommand?: boolean
  /** How many queries to name servers may be open at a time; default: no limit. */
  nameServerSockets?: number
  /** The port of hosts that publish MTA-STS policies; default: 443. */
  policyPort?: number | undefined
  /** Hashes the passwords of users; default: as costly as is advised. */
  passwords?: PasswordHasher
  /** Makes the keys of domains; default: `generateDomainKeys`. */
  generateKeys?: GenerateDomainKeys | undefined
}

/** What exists before anything is read. */
interface Opened extends BaseServices {
  config: Config
  metricsPage: MetricsPage
  resolver: DnsResolver
  secrets: KeyRing
  passwords: PasswordHasher
  generateKeys?: GenerateDomainKeys | undefined
  policyPort?: number | undefined
  hasNodes: Store['hasNodes']
  close(): Promise<void>
}

/** What a serving process and a command without a server have in common. */
export interface Core extends Opened {
  /** Null where `files` is. */
  upkeep: Upkeep | null
  backups: Backups
  accounts: Accounts
  apiKeys: ApiKeys
  people: People
  audit: AuditLog
  sendingDomains: SendingDomains
  templates: TemplateList
  largeWorker: LargeWorker
  policies: AccountPolicies
  quotas: MailQuotas
  stsPolicies: StsPolicies
  smarthosts: Smarthosts
  smarthostRoutes: SmarthostRoutes
  smarthostTokens: SmarthostTokens
  erasedAddress: ErasedAddress
  otherForms: OtherForms
}

/**
 * Opens the data directory and loads the in-memory state.
 * @throws SternaError `configuration` if another process holds it, its database is gone or has a schema that this version does not
 *   work with, or the key file is missing or a different one
 */
export async function openCore(config: Config, outside: Environment): Promise<Core> {
  const opened = await open(config, outside)
  try {
    const secrets = await openSecrets(opened.db, opened.health, config)
    followKey(secrets, opened)
    if (!outside.isStaging) await noteMoved(opened)
    // What serves has done so at its start.
    if (!outside.isCommand || !(await opened.hasNodes())) await holdRestored(opened)
    return await loadCore({ secrets, ...opened })
  } catch (error) {
    await opened.close()
    throw error
  }
}

/** What nodes know each other by. */
export const joiningFrom = ({ config, secrets }: Pick<Core, 'config' | 'secrets'>): Pick<Joining, 'machine' | 'settings' | 'newestKey'> => {
  const { mode, hostname: name, baseUrl, returnPath } = config
  return {
    machine: hostname(),
    settings: { mode, hostname: name, baseUrl, returnPathDomain: returnPath.domain },
    newestKey: secrets.newest,
  }
}

async function open(config: Config, outside: Environment): Promise<Omit<Opened, 'secrets'>> {
  const { clock, log, onFatal, busyTimeoutMs, copyLimit, olderSchema, nameServerSockets = Infinity } = outside
  let storeClock = clock
  const health = new Health({ clock: { now: () => storeClock.now() }, log })
  const metricsPage = new MetricsPage({ clock, log })
  const { metrics } = metricsPage
  const onWriting = (fault: string | null): void => health.set('writing', fault !== null, { fault })
  const onDamage = ({ keepsOut, tables, message }: DamagedError): void =>
    health.report(keepsOut ? 'damaged_writing' : 'damaged', { tables, problem: message })
  const onReaderLost = (error: Error): void => log.error({ error }, 'the thread for slow queries has ended; the next one starts another')
  const onUpgrade = ({ isWaiting, ...upgrade }: Upgrade): void =>
    isWaiting
      ? log.warn(upgrade, 'the schema of the database cannot be upgraded while others, such as pg_dump, use its tables; it is tried again')
      : log.info(upgrade, 'the schema of the database is being upgraded')
  const onMachineClock = (aheadMs: number): void => health.set('clock', isClockOff(aheadMs), clockOffset(aheadMs))
  const store = await (outside.open ?? openStore)({
    place: config,
    clock,
    busyTimeoutMs,
    olderSchema,
    // A backup of it may be checked; a server that starts on what was restored is refused.
    opensCopied: outside.isStaging === true,
    backsUpUpgrades: config.upgrade.backup,
    onFatal,
    onWriting,
    onDamage,
    onReaderLost,
    onUpgrade,
    onMachineClock,
    sharedCells: metricsPage.newCells(),
    copyLimit,
  })
  storeClock = store.clock
  const noteLookUp = (result: keyof Metrics['lookUps']): void => metrics.lookUps[result].add()
  const resolver = dnsResolver({ ...config.dns, maxSockets: nameServerSockets, noteLookUp })
  const close = async (): Promise<void> => {
    resolver.close()
    await store.db.close()
  }
  const { passwords = new PasswordHasher(), generateKeys, policyPort } = outside
  return { config, ...store, log, health, metrics, metricsPage, resolver, passwords, generateKeys, policyPort, close }
}

/** Loads what is held in memory from a database that is open. */
export async function loadCore(opened: Opened): Promise<Core> {
  const { config, clock, log, db, changes, files, secrets } = opened
  const sandboxOnly = config.mode === 'sandbox'
  const upkeep = files && new Upkeep(files.upkeep)
  const accounts = new Accounts(opened)
  const apiKeys = new ApiKeys({ ...opened, accounts, sandboxOnly })
  const audit = new AuditLog({ db, clock })
  const policies = new AccountPolicies({ ...opened, accounts })
  const sendingDomains = new SendingDomains({ ...opened, audit, policies, settings: domainSettings(config) })
  const quotas = new MailQuotas({ ...opened, policies })
  const smarthosts = new Smarthosts(opened)
  const smarthostRoutes = new SmarthostRoutes(opened)
  for (const part of [accounts, policies, apiKeys, sendingDomains, smarthosts, smarthostRoutes]) await part.load()
  const people = await openPeople({ ...opened, accounts }, { issuer: config.hostname, sandboxOnly, baseUrl: config.baseUrl })
  const largeWorker = new LargeWorker(log)
  const templates = new TemplateList({ db, clock, changes, work: largeWorker.templateWork })
  const erasedAddress = erasedAddressBy(derivedFrom(secrets, (deriveKey) => deriveKey('erased address')))
  const loaded = {
    upkeep,
    backups: new Backups(opened),
    accounts,
    apiKeys,
    people,
    audit,
    sendingDomains,
    templates,
    largeWorker,
    policies,
    quotas,
    smarthosts,
    smarthostRoutes,
    stsPolicies: new StsPolicies({ ...opened, fetch: policyFetcher(config, opened.resolver, opened.policyPort) }),
    smarthostTokens: new SmarthostTokens({ ...opened, fetch: tokenFetcher(config, opened.resolver) }, smarthostGrantOf(config)),
    erasedAddress,
    otherForms: new OtherForms(db),
  }
  return { ...loaded, ...opened }
}

function domainSettings({ hostname, baseUrl, returnPath, delivery }: Config): SendingDomainSettings {
  const webHost = new URL(baseUrl).hostname
  return {
    hostname,
    trackingHost: isFullName(webHost) && isIP(webHost) === 0 ? webHost : hostname,
    returnPathDomain: returnPath.domain,
    takesReports: returnPath.listen.length > 0,
    // A receiver may queue the last message we gave it for as long as we would, and verify it only then.
    keepOldKeysMs: delivery.giveUpAfter + signatureLifetimeMs,
  }
}

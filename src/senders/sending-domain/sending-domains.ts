import type { BaseServices } from '../../platform/base-services.ts'
import type { AccountPolicies } from '../account/account-policies.ts'
import type { AuditLog } from '../account/audit-log.ts'
import type { Secrets } from '../account/key-file.ts'
import { systemAccountId } from '../account/system-account.ts'
import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Resolver } from '../../platform/resolver.ts'
import { ConflictError, UniqueError, refusedAs } from '../../platform/store/database.ts'
import { KeyedMutex } from '../../platform/store/keyed-mutex.ts'
import type { Domain } from './domain.ts'
import { verifiedByHand } from './domain-check.ts'
import { DomainChecks } from './domain-checks.ts'
import { DomainMemory } from './domain-memory.ts'
import { changesToRecord, logChanges } from './domain-notices.ts'
import { type DnsRecord, type RecordHosts, recordsFor, returnPathOf } from './domain-records.ts'
import { changeDomain, forgetDomain, insertDomain, neededDomains, readDomains, removeDomain } from './domain-store.ts'
import { beginRotation, isRotating, withoutOldKeys } from './key-rotation.ts'
import { generateDomainKeys, type GenerateDomainKeys } from './domain-keys.ts'
import { type DomainSettings, newDomain, newSystemDomain } from './new-domain.ts'
import { type KeyWishes, newKeys } from './new-keys.ts'
import { PrivateKeys } from './private-keys.ts'
import { recordStates, type StatedRecord } from './record-states.ts'
import { firstDmarcRecord, tlsReportRecord } from './report-addresses.ts'
import { parseTrackingLabel } from './sending-domain-name.ts'

export interface SendingDomainSettings extends RecordHosts {
  /** Where bounces go while a domain's own return path is missing. */
  returnPathDomain: string
  /** How long the records of replaced keys must stay, ms: mail that they signed is under way. */
  keepOldKeysMs: number
}

interface SendingDomainsServices extends Pick<BaseServices, 'db' | 'clock' | 'changes' | 'log'> {
  secrets: Secrets
  resolver: Resolver
  /** Hears about records that go missing, and everything that the server decides by itself. */
  audit: Pick<AuditLog, 'statementFor'>
  policies: Pick<AccountPolicies, 'forget'>
  settings: SendingDomainSettings
  /** Finds the name servers of a domain's own zone, which are asked first. */
  authoritative?: (domain: string, resolver: Resolver) => Promise<DnsResolver[]>
  /** Default: `generateDomainKeys`. */
  generateKeys?: GenerateDomainKeys | undefined
}

/** Per account. Each domain is in memory, and is checked in the DNS regularly. */
const maxDomains = 1_000
const hour = 3_600_000

/** The domains that accounts send from. */
export class SendingDomains extends DomainMemory {
  readonly #services: SendingDomainsServices
  readonly #privateKeys: PrivateKeys
  readonly #keySource: { privateKeys: PrivateKeys; generateKeys: GenerateDomainKeys }
  readonly #checks: DomainChecks
  readonly #turns = new KeyedMutex()
  #forgetAt = 0

  constructor(services: SendingDomainsServices) {
    const { resolver, clock, log, settings, authoritative } = services
    const privateKeys = new PrivateKeys(services.secrets)
    const fetch = async (id: string | null): Promise<Domain[]> => {
      const stored = await readDomains(services.db, id)
      for (const { sealedKeys } of stored) privateKeys.remember(sealedKeys)
      return stored.map(({ domain }) => domain)
    }
    super({ changes: services.changes, fetch }, settings.returnPathDomain)
    this.#services = services
    this.#privateKeys = privateKeys
    this.#keySource = { privateKeys, generateKeys: services.generateKeys ?? generateDomainKeys }
    const { keepOldKeysMs } = settings
    this.#checks = new DomainChecks({
      resolver,
      clock,
      log,
      hosts: settings,
      keepOldKeysMs,
      authoritative,
      change: (id, decide) => this.#change(id, decide),
    })
  }

  /**
   * Adds a domain with fresh keys; it is not verified yet.
   * @throws SternaError `validation_error`, `domain_exists`
   */
  async add(
    accountId: string,
    name: string,
    { dkimSelector, dkimPrivateKey, ...settings }: DomainSettings & KeyWishes = {},
  ): Promise<Domain> {
    const bare = newDomain({ accountId, name, now: this.#services.clock.now() }, settings)
    if (this.list(accountId).some((domain) => domain.name === bare.name)) throw exists(bare.name)
    return this.#insert(bare, { dkimSelector, dkimPrivateKey })
  }

  /**
   * Creates the server's own domain if it does not exist, and removes that of an earlier name. There is none while the name cannot be in
   * the DNS. Call it when a server starts.
   */
  async keepSystemDomain(): Promise<void> {
    const wanted = newSystemDomain(this.#services.settings.hostname, this.#services.clock.now())
    for (const { id, name } of this.list(systemAccountId)) if (name !== wanted?.name) await this.remove(id)
    if (wanted && !this.systemDomain()) await this.#insert(wanted, {}).catch((error: unknown) => this.#hasOther(error))
  }

  /** Another node that starts has just inserted the domain. @throws what it is given if that is not why an insert failed */
  async #hasOther(error: unknown): Promise<void> {
    if (!(error instanceof SternaError) || error.code !== 'domain_exists') throw error
    await this.#services.changes.caughtUp()
  }

  async #insert(bare: Domain, wishes: KeyWishes): Promise<Domain> {
    const { keys, sealed } = await newKeys(wishes, this.#keySource, bare.createdAt)
    const domain: Domain = { ...bare, keys }
    const insert = [...insertDomain(domain, sealed, maxDomains), ...this.note(domain.id)]
    const inserted = refusedAs(this.#services.db.write(insert), ConflictError, tooMany)
    await refusedAs(inserted, UniqueError, (cause) => exists(bare.name, cause))
    this.#privateKeys.remember(sealed)
    return this.keep(domain)
  }

  /** @throws SternaError `not_found` */
  get(accountId: string, idOrName: string): Domain {
    const [domain] = this.find(idOrName, accountId)
    if (domain) return domain
    throw new SternaError('not_found', `This account has no domain "${idOrName.slice(0, 300)}".`)
  }

  /**
   * Changes what is given.
   * @throws SternaError `not_found`, `validation_error`
   */
  update(id: string, changes: Omit<DomainSettings, 'returnPathLabel'>): Promise<Domain> {
    return this.#change(id, (domain) => {
      const { trackingSubdomain = domain.trackingSubdomain } = changes
      const label = parseTrackingLabel(trackingSubdomain, domain.returnPathLabel)
      const { tracking, ...records } = domain.records
      return {
        ...domain,
        ...changes,
        trackingSubdomain: label,
        records: tracking && label === domain.trackingSubdomain ? { ...records, tracking } : records,
      }
    })
  }

  /**
   * Stops using a domain at once. Mail accepted from it is still delivered, signed with its keys; when none of it waits any more, the keys
   * are deleted for good.
   * @throws SternaError `not_found`
   */
  async remove(id: string): Promise<void> {
    await this.#turns.take(id, async () => {
      this.#getById(id)
      const remove = [removeDomain(id, this.#services.clock.now()), ...this.note(id)]
      await refusedAs(this.#services.db.write(remove), ConflictError, (cause) => noDomain(id, cause))
      await this.reload(id)
      this.#checks.forget(id)
    })
  }

  /**
   * Creates new keys, whose records are published first; they sign once their records have been found.
   * @param wanted `force`: replaces pending keys
   * @throws SternaError `not_found`, `rotation_in_progress`, `validation_error`
   */
  async rotateKeys(id: string, wanted: KeyWishes & { force?: boolean | undefined } = {}): Promise<Domain> {
    const refuseSecond = (domain: Domain): void => {
      if (isRotating(domain) && !wanted.force) throw rotationInProgress()
    }
    refuseSecond(this.#getById(id))
    const { keys, sealed } = await newKeys(wanted, this.#keySource, this.#services.clock.now())
    const begin = (domain: Domain): Domain => {
      refuseSecond(domain)
      return beginRotation(domain, keys)
    }
    return refusedAs(this.#change(id, begin, sealed), UniqueError, selectorTaken)
  }

  /**
   * Checks the domain's records now and waits for the result. Several callers share one check.
   * @throws SternaError `not_found`
   */
  async verify(id: string): Promise<Domain> {
    return this.#checks.check(this.#getById(id))
  }

  /**
   * Starts a check and does not wait for its result.
   * @throws SternaError `not_found`, `rate_limit_exceeded` within ten seconds of the last one
   */
  async beginVerification(id: string): Promise<void> {
    await this.#checks.begin(this.#getById(id))
  }

  /**
   * Marks the domain as verified without checking, for a lab without DNS: both keys sign.
   * @throws SternaError `not_found`
   */
  verifyManually(id: string): Promise<Domain> {
    const { clock, settings } = this.#services
    return this.#change(id, (domain) => verifiedByHand(domain, clock.now(), settings.keepOldKeysMs))
  }

  /** Checks what is due: verified domains every 6 h, those with new keys or pending every few minutes. Returns how many it checked. */
  recheckDue(): Promise<number> {
    return this.#checks.checkDue(this.list())
  }

  /** Drops expired keys, and removed domains that no mail waits for. */
  async forgetOld(): Promise<void> {
    const { db, clock, policies } = this.#services
    const now = clock.now()
    const isOver = (domain: Domain): boolean => withoutOldKeys(domain, now).keys.length < domain.keys.length
    for (const { id } of this.list().filter(isOver)) await this.#change(id, (domain) => withoutOldKeys(domain, now))
    const removed = this.removed().filter(({ removedAt }) => removedAt !== null && removedAt + hour <= now)
    if (removed.length === 0 || now < this.#forgetAt) return
    this.#forgetAt = now + hour
    const needed = new Set((await db.slowRead<{ id: string }>(neededDomains)).map(({ id }) => id))
    for (const domain of removed.filter(({ id }) => !needed.has(id))) {
      await policies.forget(domain.id)
      await db.write([...forgetDomain(domain.id), ...this.note(domain.id)], { mayBatch: true })
      this.drop(domain.id)
    }
  }

  /**
   * The private key behind a signing key, PKCS #8 in DER.
   * @throws SternaError `not_found`; `configuration` if the key file is a different one
   */
  privateKey(id: string): Uint8Array {
    return this.#privateKeys.open(id)
  }

  /** Calls `listener` with the id of each private key that is deleted for good. */
  onKeyGone(listener: (id: string) => void): void {
    this.#privateKeys.onGone = listener
  }

  /** The records that the domain's owner must publish. */
  records(domain: Domain): DnsRecord[] {
    return recordsFor(domain, this.#services.settings)
  }

  /** The DMARC record to start with. */
  firstDmarcRecord(domain: Domain): string {
    return firstDmarcRecord(this.#services.settings.takesReports ? returnPathOf(domain) : null)
  }

  /** The record that asks senders to the domain to report on TLS; null if this server accepts no reports. */
  tlsReportRecord(domain: Domain): { name: string; type: 'TXT'; value: string } | null {
    return this.#services.settings.takesReports ? tlsReportRecord(domain.name, returnPathOf(domain)) : null
  }

  /** All records of the domain, with what the last check found. */
  recordStates(domain: Domain): StatedRecord[] {
    return recordStates(domain, this.#services.settings)
  }

  protected override follow(before: Domain | undefined, after: Domain | undefined): void {
    super.follow(before, after)
    const kept = new Set(after?.keys.map((key) => key.id))
    for (const { id } of before?.keys ?? []) if (!kept.has(id)) this.#privateKeys.forget(id)
  }

  #getById(id: string): Domain {
    const domain = this.kept(id)
    if (domain) return domain
    throw noDomain(id)
  }

  /** Changes a domain as `decide` says; no decision is based on a version that another change is about to replace. */
  #change(id: string, decide: (domain: Domain) => Domain, sealed: ReadonlyMap<string, Uint8Array> = new Map()): Promise<Domain> {
    const { db, log, audit } = this.#services
    const change = async (): Promise<Domain> => {
      const before = this.#getById(id)
      const decided = decide(before)
      if (decided === before) return before
      const after = { ...decided, revision: before.revision + 1 }
      const notices = changesToRecord(before, after).map((each) => audit.statementFor(each))
      await db.write([...changeDomain(before, after, sealed), ...notices, ...this.note(id)])
      this.#privateKeys.remember(sealed)
      this.keep(after)
      logChanges(before, after, log)
      return after
    }
    return this.#turns.take(id, () => this.revise(id, change))
  }
}

const noDomain = (id: string, cause?: unknown): SternaError => new SternaError('not_found', `There is no domain ${id}.`, { cause })

const exists = (name: string, cause?: unknown): SternaError =>
  new SternaError('domain_exists', `This account already has the domain ${name}.`, { cause })

const tooMany = (cause: unknown): SternaError =>
  new SternaError('validation_error', `An account can have at most ${maxDomains} domains.`, { cause })

const rotationInProgress = (): SternaError =>
  new SternaError(
    'rotation_in_progress',
    'New DKIM keys are still pending: their records have not been published. Publish those, or give "force": true (--force) to ' +
      'replace them.',
  )

const selectorTaken = (cause: unknown): SternaError =>
  new SternaError('validation_error', 'The `dkim_selector` field names a selector that this domain already uses.', { cause })

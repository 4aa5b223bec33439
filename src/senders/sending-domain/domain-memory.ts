import { domainToASCII } from 'node:url'
import type { HeldBy } from '../../platform/store/held-list.ts'
import { RevisedList } from '../../platform/store/revised-list.ts'
import { systemAccountId } from '../account/system-account.ts'
import { type Domain, isSystemDomain, wasFound } from './domain.ts'
import type { DkimAlgorithm } from './domain-keys.ts'
import type { DomainTls } from './domain-object.ts'
import { returnPathOf } from './domain-records.ts'
import { isSigning } from './key-rotation.ts'

/** What submission and delivery need to know about a domain. */
export interface SenderDomain {
  /** `dom_…` */
  id: string
  name: string
  tls: DomainTls
  /** The default tracking of its mail. */
  tracking: { opens: boolean; clicks: boolean }
  /** Where its tracking links go once its record was found; null before. */
  trackingHost: string | null
  /** True if it speaks for the names below it. */
  subdomains: boolean
  /** The domain of the reverse-path. */
  returnPathDomain: string
  /** One of its names that has had an MX record in the DNS, even if it is missing now; null if none was seen. */
  knownName: string | null
  /** RSA, and Ed25519 once its record has been found; for the server's own domain, RSA needs that too. */
  signingKeys: { id: string; signingDomain: string; selector: string; algorithm: DkimAlgorithm }[]
}

/** All domains, held in memory, including removed ones while they are kept for their mail. */
export abstract class DomainMemory extends RevisedList<Domain> {
  readonly #returnPathDomain: string
  readonly #byAccount = new Map<string, Set<string>>()
  readonly #senders = new Map<string, SenderDomain>()
  /** The verified ones, by account and name. */
  readonly #verified = new Map<string, Map<string, SenderDomain>>()
  /** The return paths of all domains, each with the ids of those that have it. */
  readonly #returnPaths = new Map<string, Set<string>>()
  /** The tracking hosts whose records were found, of domains that were once verified, each with the first that had it. */
  readonly #trackingHosts = new Map<string, Domain>()

  /** `returnPathDomain`: where bounces go while a domain's own return path is missing. */
  constructor(held: Omit<HeldBy<Domain>, 'kind'>, returnPathDomain: string) {
    super({ kind: 'domain', ...held })
    this.#returnPathDomain = returnPathDomain
  }

  protected override follow(before: Domain | undefined, after: Domain | undefined): void {
    if (after) this.#remember(after)
    else if (before) this.#forget(before)
  }

  #remember(domain: Domain): void {
    const sender = senderOf(domain, this.#returnPathDomain)
    const before = this.#senders.get(domain.id)
    this.#senders.set(domain.id, sender)
    const ids = this.#byAccount.get(domain.accountId) ?? new Set<string>()
    this.#byAccount.set(domain.accountId, ids.add(domain.id))
    const verified = this.#verified.get(domain.accountId) ?? new Map<string, SenderDomain>()
    this.#verified.set(domain.accountId, verified)
    if (domain.removedAt === null && domain.status === 'verified') verified.set(domain.name, sender)
    // Another domain may have the name by now.
    else if (verified.get(domain.name)?.id === domain.id) verified.delete(domain.name)
    this.#rememberTrackingHost(domain, sender, before)
    const returnPath = returnPathOf(domain)
    const owners = this.#returnPaths.get(returnPath) ?? new Set<string>()
    this.#returnPaths.set(returnPath, owners.add(domain.id))
  }

  #rememberTrackingHost(domain: Domain, sender: SenderDomain, before: SenderDomain | undefined): void {
    const trackingHost = domain.verifiedAt === null ? null : sender.trackingHost
    const former = before?.trackingHost ?? null
    if (former !== null && former !== trackingHost && this.#trackingHosts.get(former)?.id === domain.id) this.#trackingHosts.delete(former)
    // Links outlive the domain: its host keeps answering them while its record exists.
    const owner = trackingHost === null ? undefined : this.#trackingHosts.get(trackingHost)
    if (trackingHost !== null && (owner === undefined || owner.id === domain.id)) this.#trackingHosts.set(trackingHost, domain)
  }

  /** What this tracking host serves below `/.well-known`, JSON by file; null if it is none, or its record was never found. */
  appLinksAt(host: string): Readonly<Record<string, string>> | null {
    return this.#trackingHosts.get(host)?.appLinks ?? null
  }

  /** The hosts whose records were found, of domains that were once verified. */
  get trackingHosts(): string[] {
    return [...this.#trackingHosts.keys()]
  }

  #forget(domain: Domain): void {
    this.#senders.delete(domain.id)
    for (const [host, { id }] of this.#trackingHosts) if (id === domain.id) this.#trackingHosts.delete(host)
    this.#byAccount.get(domain.accountId)?.delete(domain.id)
    const returnPath = returnPathOf(domain)
    const owners = this.#returnPaths.get(returnPath)
    owners?.delete(domain.id)
    if (owners?.size === 0) this.#returnPaths.delete(returnPath)
  }

  /** Undefined for a removed one. */
  protected kept(id: string): Domain | undefined {
    const domain = this.held(id)
    return domain?.removedAt === null ? domain : undefined
  }

  /** Of one account, or of all; oldest first. */
  list(accountId?: string): Domain[] {
    if (accountId === undefined) return this.inOrder(({ removedAt }) => removedAt === null)
    const domains = [...(this.#byAccount.get(accountId) ?? [])].flatMap((id) => this.kept(id) ?? [])
    return domains.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  systemDomain(): Domain | undefined {
    return this.list(systemAccountId)[0]
  }

  /** Domains that are kept only for their mail. */
  protected removed(): Domain[] {
    return this.inOrder(({ removedAt }) => removedAt !== null)
  }

  /** Of any account, or of one: a name may belong to several accounts. */
  find(idOrName: string, accountId?: string): Domain[] {
    const name = normalName(idOrName.endsWith('.') ? idOrName.slice(0, -1) : idOrName)
    return this.list(accountId).filter((domain) => domain.id === idOrName || domain.name === name)
  }

  /**
   * This account's verified domain called `domainName`, or its nearest parent that speaks for the names below it.
   * @param domainName U-labels and capitals are understood
   */
  verifiedDomainFor(accountId: string, domainName: string): SenderDomain | null {
    const domains = this.#verified.get(accountId)
    if (!domains) return null
    const asked = normalName(domainName)
    for (let name = asked; ;) {
      const domain = domains.get(name)
      if (domain && (name === asked || domain.subdomains)) return domain
      const dot = name.indexOf('.')
      if (dot === -1) return null
      name = name.slice(dot + 1)
    }
  }

  /**
   * True of the return path of any domain, whatever its status, including removed ones while they are kept: mail comes back late.
   * @param name in A-labels and lower case
   */
  isReturnPath(name: string): boolean {
    return this.#returnPaths.has(name)
  }

  /** True of the return path of a domain that is verified now. */
  isVerifiedReturnPath(name: string): boolean {
    return [...(this.#returnPaths.get(name) ?? [])].some((id) => this.kept(id)?.status === 'verified')
  }

  /** For mail accepted earlier, whatever happened to the domain since. Null: there is none, not even a kept one. */
  senderDomain(id: string): SenderDomain | null {
    return this.#senders.get(id) ?? null
  }
}

const normalName = (name: string): string => (/[^\0-\x7f]/.test(name) ? domainToASCII(name) : name.toLowerCase())

const senderOf = (domain: Domain, returnPathDomain: string): SenderDomain => ({
  id: domain.id,
  name: domain.name,
  tls: domain.tls,
  tracking: { opens: domain.openTracking, clicks: domain.clickTracking },
  trackingHost: domain.trackingSubdomain !== null && wasFound(domain, 'tracking') ? `${domain.trackingSubdomain}.${domain.name}` : null,
  subdomains: domain.subdomains,
  returnPathDomain: domain.returnPathSeen ? returnPathOf(domain) : returnPathDomain,
  knownName: wasFound(domain, 'return-path-mx') ? returnPathOf(domain) : null,
  signingKeys: domain.keys
    .filter((key) => isSigning(key) && (key.seenAt !== null || !isSystemDomain(domain)))
    .map(({ id, selector, algorithm }) => ({ id, signingDomain: domain.name, selector, algorithm })),
})

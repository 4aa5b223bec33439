import { isIP } from 'node:net'
import type { LRUCache } from 'lru-cache'
import { lastUsed } from '../../platform/last-used.ts'
import type { Resolver } from '../../platform/resolver.ts'
import type { FetchFault } from '../mta-sts/fetch-sts-policy.ts'
import { heldPolicies, mayTryAgain, needsFetch, stsInForce, stsRecordName, type KnownSts } from '../mta-sts/known-sts.ts'
import { announcedId, type StsPolicy } from '../mta-sts/sts-policy.ts'

interface StsLookupServices {
  resolver: Pick<Resolver, 'txt'>
  /** Asks for the policy that the DNS announces under this id, or for what is stored (null); `learn` and then `answered` follow. */
  ask(domain: string, id: string | null): void
  /** Called at most once a day for each domain whose policy mail goes by. */
  noteUsed(domain: string): void
}

/** How long the DNS is not asked again about a domain, ms. */
const lookedUpMs = 60_000
const maxDomains = 10_000
const dayMs = 24 * 3_600_000

/**
 * What a domain publishes: a policy; why the one that it announces could not be fetched; null, nothing; or `unreadable`: the store may have a policy,
 * and cannot be read.
 */
export type StsFound = StsPolicy | FetchFault | 'unreadable' | null

/**
 * Which MTA-STS policy mail for a domain goes by, as a delivery thread knows it. The DNS is asked whether there is another one, at most once a
 * minute for a domain; only the mail for a domain waits while its policy is fetched.
 */
export class StsLookup {
  readonly #services: StsLookupServices
  readonly #known: LRUCache<string, KnownSts> = heldPolicies((domain) => this.#letGo(domain))
  /** True if the store may know of domains that are not in `known`. */
  #isPartial = false
  /** When the DNS was asked last, and the store if it had to be: a domain in here is in `known`, or has no row. */
  readonly #lookedUp = lastUsed<number>(maxDomains)
  readonly #lookingUp = new Map<string, Promise<boolean>>()
  /** By domain and id; false if the store could not tell. */
  readonly #asking = new Map<string, PromiseWithResolvers<boolean>>()

  constructor(services: StsLookupServices) {
    this.#services = services
  }

  /**
   * The policy that holds for a domain.
   * @param at by the queue's clock, epoch ms
   */
  policyOf(domain: string, at: number): StsFound | Promise<StsFound> {
    const since = at - (this.#lookedUp.get(domain) ?? -Infinity)
    if (since >= 0 && since < lookedUpMs) return this.#inForce(domain, at)
    if (domain.startsWith('[') || isIP(domain) !== 0) return null
    const lookingUp = this.#lookingUp.get(domain) ?? this.#lookUp(domain, at).finally(() => this.#lookingUp.delete(domain))
    this.#lookingUp.set(domain, lookingUp)
    return lookingUp.then((isRead) => (isRead ? this.#inForce(domain, at) : 'unreadable'))
  }

  /** The same after another look at what the domain publishes: RFC 8461 5.1 wants one before mail that the policy holds back is given up. */
  async policyAnew(domain: string, at: number): Promise<StsFound> {
    const isRead = await this.#recall(domain)
    const known = this.#known.get(domain)
    if (!known || !mayTryAgain(known, at)) return isRead ? this.#inForce(domain, at) : 'unreadable'
    const id = await this.#announced(domain)
    if (id !== null) await this.#ask(domain, id)
    return (await this.#recall(domain)) ? this.#inForce(domain, at) : 'unreadable'
  }

  /** What another thread, an earlier process or another node has found. */
  learn(known: KnownSts): void {
    this.#known.set(known.domain, known)
  }

  /** More is stored than was learnt. */
  learnPartial(): void {
    this.#isPartial = true
  }

  /** What was asked for has been learnt, if there is anything; `isRead`: false if the store could not tell. */
  answered(domain: string, id: string | null, isRead: boolean): void {
    const key = askedKey(domain, id)
    this.#asking.get(key)?.resolve(isRead)
    this.#asking.delete(key)
  }

  #letGo(domain: string): void {
    this.#isPartial = true
    this.#lookedUp.delete(domain)
  }

  #inForce(domain: string, at: number): StsFound {
    const known = this.#known.get(domain)
    const policy = stsInForce(known, at)
    if (known && policy && Math.abs(at - known.usedAt) >= dayMs) {
      this.#known.set(domain, { ...known, usedAt: at })
      this.#services.noteUsed(domain)
    }
    return policy ?? (known ? freshFault(known, at) : null)
  }

  /** A look-up that fails announces nothing, so what is known holds (RFC 8461 3.3). */
  async #announced(domain: string): Promise<string | null> {
    return announcedId((await this.#services.resolver.txt(stsRecordName(domain))).records)
  }

  /** False if nobody can tell what holds. While the store cannot be read, what is known does. */
  async #lookUp(domain: string, at: number): Promise<boolean> {
    const id = await this.#announced(domain)
    if (!(await this.#recall(domain))) return false
    const isRead = id === null || !needsFetch(this.#known.get(domain), id, at) || (await this.#ask(domain, id))
    if (!isRead && !stsInForce(this.#known.get(domain), at)) return false
    this.#lookedUp.set(domain, at)
    return true
  }

  /** Asks the store for what is known of a domain, if that may have been let go of. False if it cannot be read. */
  async #recall(domain: string): Promise<boolean> {
    return !this.#isPartial || this.#known.has(domain) || this.#ask(domain, null)
  }

  #ask(domain: string, id: string | null): Promise<boolean> {
    const key = askedKey(domain, id)
    const asked = this.#asking.get(key) ?? Promise.withResolvers<boolean>()
    if (!this.#asking.has(key)) {
      this.#asking.set(key, asked)
      this.#services.ask(domain, id)
    }
    return asked.promise
  }
}

const askedKey = (domain: string, id: string | null): string => (id === null ? domain : `${domain} ${id}`)

/** An older fault is about a policy that the domain no longer announces; otherwise it would have been tried again. */
const freshFault = (known: KnownSts, at: number): FetchFault | null => (mayTryAgain(known, at - lookedUpMs) ? null : known.fault)

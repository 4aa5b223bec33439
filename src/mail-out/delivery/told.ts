import type { ClassicalHost } from './classical-hosts.ts'
import type { LoginNews } from './login-gates.ts'
import type { LookUp } from './find-route.ts'
import type { ProviderStop } from './provider-stops.ts'
import type { SessionSum } from './session-tally.ts'

/** Who hears about what the threads see besides the attempts. */
export interface Told {
  /** What name servers say about destinations; reported before the attempts. */
  lookUp(lookUp: LookUp): void
  /** The name servers that have validated DNSSEC and no longer do; told after each proof. */
  unvalidated(servers: string[]): void
  /** Whether a smarthost refuses our mail. */
  login(news: LoginNews): void
  /**
   * The smarthost refuses the access token with this serial, or there is none. What is known then is to be set before this resolves; it must
   * not reject.
   */
  smarthostTokenWanted(serial: number): Promise<void>
  /** A host was found to drop large hellos, or to do so no longer. */
  classicalHost(host: ClassicalHost): void
  /** Nothing is sent to a group of destinations for a while, or mail flows again. */
  providerStop(stop: ProviderStop): void
  /** Which destinations are served by the same hosts: see `destinationGroup`. Told before the attempts. */
  destinationGroup(destination: string, group: string): void
  /** TLS sessions of the last seconds, with `countsSessions`. */
  tlsSessions(sums: SessionSum[]): void
  /**
   * The DNS announces an MTA-STS policy that is not known; or, if `id` is null, what is stored of a domain is wanted. Whatever is found is
   * to be set before this resolves; it must not reject. False: the store cannot be read or written.
   */
  stsWanted(domain: string, id: string | null): Promise<boolean>
  /** Mail goes by the policy of a domain; called at most once a day by each thread. */
  stsUsed(domain: string): void
}

/** Hears nothing. */
export const nobody: Told = {
  lookUp: () => {},
  unvalidated: () => {},
  login: () => {},
  smarthostTokenWanted: async () => {},
  classicalHost: () => {},
  providerStop: () => {},
  destinationGroup: () => {},
  stsWanted: async () => true,
  stsUsed: () => {},
  tlsSessions: () => {},
}

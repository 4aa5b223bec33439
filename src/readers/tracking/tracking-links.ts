import type { TrackingPlan } from './tracked-message.ts'
import type { TrackingOptions } from '../../mail/message/tracking-options.ts'
import type { TrackingKeys } from './tracking-token.ts'

interface TrackingLinksServices {
  /** The first makes the links. */
  keys: () => readonly [TrackingKeys, ...TrackingKeys[]]
  /** This server's URL for the outside, without a final slash. */
  baseUrl: string
  hiddenLink: boolean
  /** True if browsers can reach this name over https. */
  isCertified(trackingHost: string): boolean
}

/** Decides where a mail's tracking links are: at its domain's tracking host once browsers can reach that, else at `base_url`. */
export class TrackingLinks {
  readonly #services: TrackingLinksServices

  constructor(services: TrackingLinksServices) {
    this.#services = services
  }

  /** @param domain.trackingHost the verified one, or null */
  planFor({ tracking }: { tracking: TrackingOptions | null }, { trackingHost }: { trackingHost: string | null }): TrackingPlan | null {
    if (!tracking) return null
    const { keys, baseUrl, hiddenLink, isCertified } = this.#services
    const host = trackingHost !== null && isCertified(trackingHost) ? trackingHost : ''
    const base = host === '' ? baseUrl : `https://${host}`
    const { opens, clicks } = tracking
    return { opens, clicks, hiddenLink, base: `${base}/t`, trackingHost: host, ownUrls: [`${baseUrl}/u/`, `${base}/u/`], keys: keys()[0] }
  }
}

import { sealTarget } from './sealed-target.ts'
import type { MessageMark, TrackingKeys } from './tracking-token.ts'

/** The URLs that replace a message's own; each contains the placeholder for a recipient's token. */
export interface MessageLinks {
  /** Of the picture that shows an open. */
  openUrl: string
  /** Of the link that nobody sees. */
  hiddenUrl: string
  /** For the next of this many links, which leads to `target`. */
  clickUrl(target: string, links: number): string
}

/**
 * @param from.base where tracking links are, such as `https://track.example/t`
 * @param from.trackingHost see `TrackingPlan`
 */
export function messageLinks(from: { mark: MessageMark; base: string; trackingHost: string; keys: TrackingKeys }): MessageLinks {
  const { mark, base, trackingHost, keys } = from
  const { placeholder } = mark
  const place = { messageTag: mark.tag, trackingHost }
  let link = 0
  return {
    openUrl: `${base}/o/${placeholder}`,
    hiddenUrl: `${base}/h/${placeholder}`,
    clickUrl: (url, links) => `${base}/c/${placeholder}/${sealTarget({ link: link++, links, url }, place, keys)}`,
  }
}

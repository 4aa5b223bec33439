import { sealTarget } from './sealed-target.ts'
import type { MessageMark, TrackingKeys } from './tracking-token.ts'

/** The URLs that a message gets in place of its own; in each stands the placeholder where a recipient's token goes. */
export interface MessageLinks {
  /** Of the picture by which an open is seen. */
  openUrl: string
  /** Of the link that nobody sees. */
  hiddenUrl: string
  /** Of the next one of so many links, which leads to `target`. */
  clickUrl(target: string, links: number): string
}

/**
 * @param from.base where tracking links are, such as `https://track.example/t`
 * @param from.trackingHost as `TrackingPlan` has it
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

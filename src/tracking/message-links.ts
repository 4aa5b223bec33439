import { sealTarget } from './sealed-target.ts'
import { messageTag, tokenPlaceholder } from './tracking-token.ts'
import type { TrackingKeys } from './tracking-token.ts'

/** The URLs that a message gets in place of its own; each has a placeholder where a recipient's token goes. */
export interface MessageLinks {
  /** Of the picture by which an open is seen. */
  openUrl: string
  /** Of the next link, which leads to `target`. */
  clickUrl(target: string): string
}

/** @param from.base what stands before the tokens, such as `https://track.example/t/` */
export function messageLinks(from: { messageId: string; base: string; keys: TrackingKeys }): MessageLinks {
  const { messageId, base, keys } = from
  const openUrl = base + tokenPlaceholder(messageId, keys)
  const tag = messageTag(messageId, keys)
  let link = 0
  return { openUrl, clickUrl: (url) => `${openUrl}/${sealTarget({ link: link++, url }, tag, keys)}` }
}

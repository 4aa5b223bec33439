import type { ReplyEntry } from './reply-entry.ts'
import { google } from './google-replies.ts'
import { microsoft } from './microsoft-replies.ts'
import { yahoo } from './yahoo-replies.ts'
import { mailboxProviders } from './mailbox-provider-replies.ts'
import { filters, relays } from './filter-replies.ts'
import { plainly, recipients } from './plain-replies.ts'
import { anybody, vague } from './general-replies.ts'
import { atTheDoor, busyWords, remaining } from './vague-replies.ts'

/** In order: the first that fits counts. */
export const replyEntries: readonly ReplyEntry[] = [
  ...google,
  ...microsoft,
  ...yahoo,
  ...mailboxProviders,
  ...filters,
  ...relays,
  ...plainly,
  ...recipients,
  ...anybody,
  ...vague,
  ...atTheDoor,
  ...busyWords,
  ...remaining,
]

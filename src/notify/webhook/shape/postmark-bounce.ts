/** A bounce type of Postmark's list. */
export interface PostmarkBounceType {
  Type: string
  TypeCode: number
  Name: string
  Description: string
}

const hardBounce = {
  Type: 'HardBounce',
  TypeCode: 1,
  Name: 'Hard bounce',
  Description: 'The server was unable to deliver your message (ex: unknown user, mailbox not found).',
}
const softBounce = {
  Type: 'SoftBounce',
  TypeCode: 4096,
  Name: 'Soft bounce',
  Description: 'Unable to temporarily deliver message (i.e. mailbox full, account disabled, exceeds quota, out of disk space).',
}
const blocked = {
  Type: 'Blocked',
  TypeCode: 100_006,
  Name: 'ISP block',
  Description: 'Blocked from this ISP due to content or blacklisting.',
}
const spamNotification = {
  Type: 'SpamNotification',
  TypeCode: 512,
  Name: 'Spam notification',
  Description: 'The message was delivered, but was either blocked by the user, or classified as spam, bulk mail, or had rejected content.',
}
const unknown = { Type: 'Unknown', TypeCode: 2048, Name: 'Undetermined', Description: 'Unable to classify the bounce.' }

/** For deferrals. */
export const transient: PostmarkBounceType = {
  Type: 'Transient',
  TypeCode: 2,
  Name: 'Message delayed',
  Description:
    'The server could not temporarily deliver your message (ex: Message is delayed due to network troubles, or the receiving server is busy).',
}

export const spamComplaint: PostmarkBounceType = {
  Type: 'SpamComplaint',
  TypeCode: 100_001,
  Name: 'Spam complaint',
  Description: 'The subscriber explicitly marked this message as spam.',
}

const softTypes: Record<string, PostmarkBounceType> = {
  content_rejected: spamNotification,
  policy: blocked,
  reputation: blocked,
  internal_error: unknown,
  other: unknown,
}

/** Postmark's bounce types. A hard bounce is always a HardBounce, which deactivates the address. */
export const bounceTypeOf = (category: string | null, isHard: boolean): PostmarkBounceType =>
  isHard ? hardBounce : (softTypes[category ?? ''] ?? softBounce)

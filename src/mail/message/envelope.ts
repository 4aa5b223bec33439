/** Who a message is for, and how to deliver it (RFC 5321 2.3.1). */
export interface Envelope {
  /** MAIL FROM of the submitter; null over HTTP and for `<>`. */
  reversePath: string | null
  recipients: EnvelopeRecipient[]
  bodyType: '7bit' | '8bitmime'
  /** True if a header field or an address needs RFC 6531. */
  smtputf8: boolean
  /** RFC 3461, as given. */
  envid: string | null
  /** `full` or `hdrs` (RFC 3461). */
  ret: string | null
}

/** Which header field names an address; `bcc` if none does. */
export const recipientTypes = ['to', 'cc', 'bcc'] as const
export type RecipientType = (typeof recipientTypes)[number]

export interface EnvelopeRecipient {
  /** `local@domain`, domain in A-labels and lower case. */
  forwardPath: string
  type: RecipientType
  /** RFC 3461, as given: `NEVER` or a list of `SUCCESS`, `FAILURE`, `DELAY`. */
  notify: string | null
  orcpt: string | null
}

export const recipientTo = (forwardPath: string, type: RecipientType = 'to'): EnvelopeRecipient => ({
  forwardPath,
  type,
  notify: null,
  orcpt: null,
})

/** The envelope of a message that did not come over SMTP. */
export const envelopeTo = (recipients: EnvelopeRecipient[], { bodyType, smtputf8 }: Pick<Envelope, 'bodyType' | 'smtputf8'>): Envelope => ({
  reversePath: null,
  recipients,
  bodyType,
  smtputf8,
  envid: null,
  ret: null,
})

/** The columns of `message` that store the envelope; each recipient has a row of its own. */
export const envelopeColumns = ({ reversePath, bodyType, smtputf8, envid, ret }: Omit<Envelope, 'recipients'>) => ({
  reverse_path: reversePath,
  body_type: bodyType,
  smtputf8: smtputf8 ? 1 : 0,
  envid,
  ret,
})

export const storedEnvelope = (row: ReturnType<typeof envelopeColumns>): Omit<Envelope, 'recipients'> => ({
  reversePath: row.reverse_path,
  bodyType: row.body_type,
  smtputf8: row.smtputf8 === 1,
  envid: row.envid,
  ret: row.ret,
})

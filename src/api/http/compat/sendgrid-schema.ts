import { z } from 'zod'
import { harmless, isNothing, isTurnedOff, listOf, recordOf } from './compat-schema.ts'

/** characters; longer ones are refused anyway */
const maxNameLength = 1000
/** Clients that know of a fault of SendGrid put names into quotation marks, so that a comma in them does no harm. */
const displayName = z.string().transform((name) => {
  const quoted = name.length <= maxNameLength ? /^"((?:[^"\\]|\\.)*)"$/s.exec(name)?.[1] : undefined
  return quoted?.replace(/\\(.)/gs, '$1') ?? name
})
const mailbox = z.strictObject({ email: z.string(), name: displayName.nullish() })
const unixTime = z.int().min(0).max(99_999_999_999)
const toggle = z.strictObject({ enable: z.boolean().nullish() }).nullish()
const off = (what: string) => harmless(isTurnedOff, `is not supported: this server ${what}`)

const personalization = z.strictObject({
  to: listOf(mailbox),
  from: mailbox.nullish(),
  cc: listOf(mailbox).nullish(),
  bcc: listOf(mailbox).nullish(),
  subject: z.string().nullish(),
  headers: recordOf(z.string()).nullish(),
  substitutions: recordOf(z.union([z.string(), z.number()], { error: 'must be a string or a number' })).nullish(),
  dynamic_template_data: recordOf(z.unknown()).nullish(),
  custom_args: recordOf(z.string()).nullish(),
  send_at: unixTime.nullish(),
})

const attachment = z.strictObject({
  content: z.string(),
  filename: z.string(),
  type: z.string().nullish(),
  disposition: z.enum(['attachment', 'inline']).nullish(),
  content_id: z.string().nullish(),
  // The client's own conversion to snake case misses this one.
  contentId: z.string().nullish(),
})

/** A group to unsubscribe from. */
const group = z.strictObject({
  group_id: z.int().positive().nullish(),
  groups_to_display: harmless(isNothing, 'is not supported: one unsubscribes from the group of the email'),
})

/** The body of `/v3/mail/send`. One email for each personalization; a hundred is what the API itself takes at once. */
export const sendGridSchema = z.strictObject({
  personalizations: listOf(personalization, 100).refine((list) => list.length > 0, {
    error: 'must have at least one entry',
    params: { code: 'too_few' },
  }),
  from: mailbox,
  reply_to: mailbox.nullish(),
  reply_to_list: listOf(mailbox).nullish(),
  subject: z.string().nullish(),
  content: listOf(z.strictObject({ type: z.string(), value: z.string() })).nullish(),
  attachments: listOf(attachment, 100).nullish(),
  template_id: z.string().max(100).nullish(),
  headers: recordOf(z.string()).nullish(),
  categories: listOf(z.string()).nullish(),
  custom_args: recordOf(z.string()).nullish(),
  send_at: unixTime.nullish(),
  batch_id: harmless(isNothing, 'is not supported: scheduled emails are canceled by their ids'),
  asm: group.nullish(),
  sections: harmless(isNothing, 'is not supported: write the text into the content or the substitutions'),
  ip_pool_name: harmless(isNothing, 'is not supported: the operator of this server decides from which address mail leaves'),
  mail_settings: z
    .strictObject({
      sandbox_mode: toggle,
      bypass_list_management: off('never sends to suppressed addresses'),
      bypass_spam_management: off('never sends to suppressed addresses'),
      bypass_bounce_management: off('never sends to suppressed addresses'),
      bypass_unsubscribe_management: off('never sends to suppressed addresses'),
      footer: off('adds no footer'),
      spam_check: off('does not look for spam in what its users send'),
      bcc: off('sends no copies of its own; name them in a personalization'),
    })
    .nullish(),
  tracking_settings: z
    .strictObject({
      click_tracking: z.strictObject({ enable: z.boolean().nullish(), enable_text: z.boolean().nullish() }).nullish(),
      open_tracking: z
        .strictObject({
          enable: z.boolean().nullish(),
          substitution_tag: harmless(isNothing, 'is not supported: the pixel stands at the end'),
        })
        .nullish(),
      subscription_tracking: off('adds no text to unsubscribe'),
      ganalytics: off('does not change links'),
    })
    .nullish(),
})

export type SendGridBody = z.output<typeof sendGridSchema>
export type SendGridAttachment = z.output<typeof attachment>

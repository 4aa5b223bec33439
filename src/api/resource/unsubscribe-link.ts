import type { AccountScope } from '../../senders/account/account-scope.ts'
import type { EnvelopeRecipient } from '../../mail/message/envelope.ts'
import { unsubscribeUrl, type UnsubscribeContext } from '../../mail/suppression/unsubscribe-token.ts'
import { refusal } from '../operation/validate.ts'

/** The message that a link belongs to. */
interface LinkedMessage extends AccountScope {
  messageId: string
  topic: string
  recipients: EnvelopeRecipient[]
}

interface Bodies {
  html?: string | null | undefined
  text?: string | null | undefined
}

const placeholder = /\{\{ *unsubscribe_url *\}\}/g
/** Each is replaced by several hundred characters. */
const maxLinks = 100

/** What templates insert where the link belongs; it is replaced once the recipient is known. */
export const linkVariable = { unsubscribe_url: '{{unsubscribe_url}}' }

/**
 * The email with the unsubscribe link in place of `{{unsubscribe_url}}` in its bodies: the same link as in its header.
 * @throws SternaError `validation_error` if it has several recipients, each of whom would need a different link, or too many links
 */
export function withUnsubscribeLink<E extends Bodies>(email: E, message: LinkedMessage, context: UnsubscribeContext): E {
  const { accountId, sandbox, messageId, topic, recipients } = message
  const [only, ...others] = recipients
  const filled = (field: 'html' | 'text'): string | null | undefined => {
    const text = email[field]
    const links = text?.match(placeholder)?.length ?? 0
    if (links === 0) return text
    if (!only || others.length > 0)
      throw fault(field, 'has {{unsubscribe_url}}, which differs by recipient: send a separate email to each one')
    if (links > maxLinks) throw fault(field, `has {{unsubscribe_url}} more than ${maxLinks} times`)
    const url = unsubscribeUrl({ accountId, sandbox, messageId, topic, address: only.forwardPath }, context)
    return text?.replaceAll(placeholder, () => url)
  }
  return { ...email, html: filled('html'), text: filled('text') }
}

const fault = (field: string, what: string) =>
  refusal([{ field, code: 'invalid_value', message: `The \`${field}\` field ${what}.`, help: null }])

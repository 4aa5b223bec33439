import type { AccountScope } from '../../account/account-scope.ts'
import type { EnvelopeRecipient } from '../../message/envelope.ts'
import { unsubscribeUrl, type UnsubscribeContext } from '../../suppression/unsubscribe-token.ts'
import { refusal } from '../validate.ts'

/** The message that a link is for. */
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
/** Each becomes some hundred characters. */
const mostLinks = 100

/** What templates fill in where the link is to stand: who the recipient is shows later. */
export const linkVariable = { unsubscribe_url: '{{unsubscribe_url}}' }

/**
 * The email with the link to unsubscribe where its bodies have `{{unsubscribe_url}}`: the same as in its header.
 * @throws SternaError `validation_error` where it has several recipients, each of whom would need another, or too many links
 */
export function withUnsubscribeLink<E extends Bodies>(email: E, message: LinkedMessage, context: UnsubscribeContext): E {
  const { accountId, sandbox, messageId, topic, recipients } = message
  const [only, ...others] = recipients
  const filled = (field: 'html' | 'text'): string | null | undefined => {
    const text = email[field]
    const links = text?.match(placeholder)?.length ?? 0
    if (links === 0) return text
    if (!only || others.length > 0)
      throw fault(field, 'holds {{unsubscribe_url}}, which differs by recipient: send the email to each one by itself')
    if (links > mostLinks) throw fault(field, `holds {{unsubscribe_url}} more than ${mostLinks} times`)
    const url = unsubscribeUrl({ accountId, sandbox, messageId, topic, address: only.forwardPath }, context)
    return text?.replaceAll(placeholder, () => url)
  }
  return { ...email, html: filled('html'), text: filled('text') }
}

const fault = (field: string, what: string) =>
  refusal([{ field, code: 'invalid_value', message: `The \`${field}\` field ${what}.`, help: null }])

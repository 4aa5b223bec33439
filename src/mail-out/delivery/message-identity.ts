import { createHmac } from 'node:crypto'
import { feedbackId, listUnsubscribe, referenceFieldOf, traceFieldOf, type AddedField } from '../../mail/message/added-field.ts'
import type { ReportService } from '../../platform/config/report-services.ts'
import { encodeToken, type TokenPurpose } from '../../platform/smtp/verp.ts'
import { unsubscribeUrl, type UnsubscribeContext } from '../../mail/suppression/unsubscribe-token.ts'
import type { DeliveryRecipient } from './attempt.ts'

/** What we say about a message in its own header. */
export interface IdentifiedMessage {
  id: string
  accountId: string
  sandbox: boolean
  /** When it was first due, epoch ms: its tokens expire counted from then. */
  firstDueAt: number
  /** True if it leaves with the null reverse-path, so no bounce comes back. */
  nullReversePath: boolean
  /** The value of its first tag. */
  feedbackTag: string | null
  /** What its readers can unsubscribe from; '': mail without a topic; null: nothing. */
  unsubscribeTopic: string | null
}

/** The domain that sends a message. */
interface IdentifyingDomain {
  name: string
  returnPathDomain: string
}

interface IdentityServices {
  /** For the tokens of recipients: the first makes them. */
  tokenKeys: () => readonly [Buffer, ...Buffer[]]
  unsubscribe: () => UnsubscribeContext
  /** The last part of Feedback-ID. */
  feedbackSender: string
  /** Which service the smarthost is, where it reports what became of mail. */
  reportService?: ReportService | null
}

/** What a message carries for one recipient alone. */
export type RecipientEnvelope = Omit<DeliveryRecipient, 'id' | 'forwardPath'>

/** How we recognise a message when something comes back: by its reverse-path and fields of its header. */
export class MessageIdentity {
  readonly #services: IdentityServices
  /** What Feedback-ID calls each account, which is the same for all its mail until the key changes. */
  readonly #accountNames = new Map<string, string>()
  #namedBy: Buffer | null = null

  constructor(services: IdentityServices) {
    this.#services = services
  }

  /** The same for all recipients. */
  fieldsOf({ accountId, feedbackTag }: IdentifiedMessage, { name }: IdentifyingDomain): AddedField[] {
    const account = this.#accountName(accountId)
    return [feedbackId({ tag: feedbackTag, domain: name, account, sender: this.#services.feedbackSender })]
  }

  #accountName(accountId: string): string {
    const [key] = this.#services.tokenKeys()
    if (key !== this.#namedBy) this.#accountNames.clear()
    this.#namedBy = key
    const name =
      this.#accountNames.get(accountId) ?? createHmac('sha256', key).update(`feedback-id ${accountId}`).digest('hex').slice(0, 16)
    this.#accountNames.set(accountId, name)
    return name
  }

  /** The server's own mail carries nothing by which anything could come back to it. */
  readonly anonymous = (): RecipientEnvelope => ({ reversePath: '', traceFields: '', fields: [] })

  /** What belongs to one recipient alone. */
  envelopeOf(
    message: IdentifiedMessage,
    { id: recipientId, forwardPath }: Pick<DeliveryRecipient, 'id' | 'forwardPath'>,
    { returnPathDomain }: IdentifyingDomain,
  ): RecipientEnvelope {
    const { tokenKeys, unsubscribe, reportService } = this.#services
    const [tokenKey] = tokenKeys()
    const token = (purpose: TokenPurpose): string => encodeToken(purpose, { recipientId, firstDueAt: message.firstDueAt }, tokenKey)
    const fields: AddedField[] = []
    if (message.unsubscribeTopic !== null) {
      const { accountId, id: messageId, sandbox, unsubscribeTopic: topic } = message
      const url = unsubscribeUrl({ accountId, messageId, sandbox, address: forwardPath, topic }, unsubscribe())
      fields.push(listUnsubscribe({ url, mailbox: `${token('unsubscribe')}@${returnPathDomain}` }))
    }
    const reversePath = message.nullReversePath ? '' : `${token('bounce')}@${returnPathDomain}`
    const reference = token('reference')
    const ofService = reportService ? referenceFieldOf(reportService, reference) : ''
    return { reversePath, traceFields: traceFieldOf(reference) + ofService, fields }
  }
}

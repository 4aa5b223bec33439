import { systemAccountId } from '../../senders/account/system-account.ts'
import type { DomainTls } from '../../senders/sending-domain/domain-object.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'
import type { DeliveryJob, DeliveryRecipient } from './attempt.ts'
import type { Delivery } from './delivery-threads.ts'
import type { IdentifiedMessage, MessageIdentity, RecipientEnvelope } from './message-identity.ts'
import type { TrackingLinks } from '../../readers/tracking/tracking-links.ts'
import type { TrackingOptions } from '../../mail/message/tracking-options.ts'

/** How a message leaves: its reverse-path, added fields, signatures, and required TLS. */
export type JobEnvelope = Pick<DeliveryJob, 'signingKeys' | 'fields' | 'knownName' | 'tracking'> & {
  tls: DomainTls
  envelopeOf(recipient: Pick<DeliveryRecipient, 'id' | 'forwardPath'>): RecipientEnvelope
}

interface JobEnvelopesServices {
  identity: MessageIdentity
  tracking: Pick<TrackingLinks, 'planFor'>
  sendingDomains: Pick<SendingDomains, 'senderDomain' | 'privateKey' | 'onKeyGone'>
  delivery: Pick<Delivery, 'addKey' | 'dropKey'>
}

/** Decides how each message leaves, and hands delivery each signing key once. */
export class JobEnvelopes {
  readonly #services: JobEnvelopesServices
  /** Ids of keys that delivery has. */
  readonly #given = new Set<string>()

  constructor(services: JobEnvelopesServices) {
    this.#services = services
    services.sendingDomains.onKeyGone((id) => {
      if (this.#given.delete(id)) services.delivery.dropKey(id)
    })
  }

  /** Null if the message cannot be signed because its domain is gone. The server's own mail then leaves unsigned. */
  envelopeFor(message: IdentifiedMessage & { domainId: string | null; tracking: TrackingOptions | null }): JobEnvelope | null {
    const { identity, sendingDomains, tracking } = this.#services
    const domain = message.domainId === null ? null : sendingDomains.senderDomain(message.domainId)
    const isOwn = message.accountId === systemAccountId
    if (!domain)
      return isOwn
        ? { signingKeys: [], tls: 'opportunistic', fields: [], knownName: null, tracking: null, envelopeOf: identity.anonymous }
        : null
    const { signingKeys, tls, knownName } = domain
    for (const { id } of signingKeys) this.#give(id)
    if (isOwn) return { signingKeys, tls, fields: [], knownName, tracking: null, envelopeOf: identity.anonymous }
    const fields = identity.fieldsOf(message, domain)
    return {
      signingKeys,
      tls,
      knownName,
      fields,
      tracking: tracking.planFor(message, domain),
      envelopeOf: (recipient) => identity.envelopeOf(message, recipient, domain),
    }
  }

  #give(keyId: string): void {
    if (this.#given.has(keyId)) return
    this.#services.delivery.addKey(keyId, this.#services.sendingDomains.privateKey(keyId))
    this.#given.add(keyId)
  }
}

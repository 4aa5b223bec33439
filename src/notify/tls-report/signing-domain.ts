import { domainOf } from '../../platform/smtp/address.ts'
import type { SenderDomain } from '../../senders/sending-domain/domain-memory.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'

/** The domain of any account, or of the server itself, that signs mail from this address; null if none does: nobody takes unsigned reports. */
export function signingDomain(address: string, domains: Pick<SendingDomains, 'find' | 'senderDomain'>): SenderDomain | null {
  const verified = domains.find(domainOf(address)).filter(({ status }) => status === 'verified')
  return verified.flatMap(({ id }) => domains.senderDomain(id) ?? []).find(({ signingKeys }) => signingKeys.length > 0) ?? null
}

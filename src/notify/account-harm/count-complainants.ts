import { isErasedAddress } from '../../mail/suppression/erased-address.ts'
import { domainOf } from '../../platform/smtp/address.ts'
import { organizationalDomain } from '../../senders/sending-domain/sending-domain-name.ts'

/** Domains at which anyone may have one address, and hardly anyone has many. Most have a feedback loop. */
const mailboxProviders = new Set(
  `aim.com alice.it aol.com att.net bell.net bellsouth.net bigpond.com bluewin.ch bt.com btinternet.com charter.net comcast.net
   cox.net earthlink.net fastmail.com free.fr freenet.de gmail.com gmx.at gmx.ch gmx.de gmx.net googlemail.com hotmail.co.uk
   hotmail.com hotmail.de hotmail.es hotmail.fr hotmail.it icloud.com laposte.net libero.it live.co.uk live.com live.fr live.nl
   mac.com mail.com mail.ru me.com msn.com naver.com neuf.fr o2.pl optonline.net orange.fr outlook.com outlook.de outlook.es
   outlook.fr proton.me protonmail.com qq.com rambler.ru rediffmail.com rocketmail.com rogers.com rr.com sbcglobal.net seznam.cz
   sfr.fr shaw.ca sympatico.ca t-online.de telenet.be telus.net terra.com.br tiscali.it uol.com.br verizon.net virgilio.it
   virginmedia.com wanadoo.fr web.de wp.pl yahoo.ca yahoo.co.in yahoo.co.jp yahoo.co.uk yahoo.com yahoo.com.au yahoo.com.br
   yahoo.de yahoo.es yahoo.fr yahoo.it yandex.ru ymail.com ziggo.nl 126.com 163.com`.split(/\s+/),
)

/**
 * The fewest people who can be behind the addresses that complained: the owner of a domain has as many addresses there as he wants, and
 * who has one address at a mailbox provider has many spellings of it.
 * @param addresses in the form of the suppression list
 */
export const countComplainants = (addresses: readonly string[]): number => new Set(addresses.map(complainantOf)).size

function complainantOf(address: string): string {
  // Nothing says which of these were of one person.
  if (isErasedAddress(address)) return address
  const domain = domainOf(address)
  if (!mailboxProviders.has(domain)) return organizationalDomain(domain)
  const [mailbox = ''] = address.split(/[+@]/, 1)
  return `${mailbox.replaceAll('.', '')}@${domain}`
}

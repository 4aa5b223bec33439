import { organizationalDomain } from '../../senders/sending-domain/sending-domain-name.ts'

/**
 * Who runs a mail server, by the endings of MX host names. A filter in front of a mailbox is the provider, because it accepts or refuses
 * the mail.
 */
const suffixesOf = {
  apple: ['icloud.com'],
  barracuda: ['barracudanetworks.com'],
  cisco: ['iphmx.com'],
  cloudflare: ['mx.cloudflare.net'],
  comcast: ['comcast.net'],
  fastmail: ['messagingengine.com'],
  forwardemail: ['forwardemail.net'],
  free: ['free.fr'],
  gmx: ['gmx.net', 'web.de', 'mail.com'],
  godaddy: ['secureserver.net'],
  google: ['google.com', 'googlemail.com'],
  improvmx: ['improvmx.com'],
  ionos: ['kundenserver.de', 'ionos.com', 'ionos.de', 'ionos.co.uk', 'ionos.es', 'ionos.fr', '1and1.com', '1and1.co.uk', '1and1.fr'],
  kpn: ['kpnmail.nl'],
  laposte: ['laposte.net'],
  mailru: ['mail.ru'],
  messagelabs: ['messagelabs.com'],
  microsoft: ['outlook.com', 'mx.microsoft'],
  mimecast: ['mimecast.com', 'mimecast.co.za', 'mimecast-offshore.com'],
  naver: ['naver.com'],
  netease: ['netease.com'],
  netvigator: ['netvigator.com'],
  orange: ['orange.fr', 'wanadoo.fr'],
  ovh: ['ovh.net'],
  proofpoint: ['pphosted.com', 'ppe-hosted.com'],
  proton: ['protonmail.ch'],
  qq: ['qq.com'],
  rackspace: ['emailsrvr.com'],
  sfr: ['sfr.fr'],
  tonline: ['t-online.de'],
  trendmicro: ['tmes.trendmicro.com', 'tmes.trendmicro.eu'],
  yahoo: ['yahoodns.net'],
  yahoo_japan: ['yahoo.co.jp'],
  yandex: ['yandex.net', 'yandex.ru'],
  zoho: ['zoho.com', 'zoho.eu', 'zoho.in', 'zohomail.com', 'zohomail.eu', 'zohomail.in'],
} satisfies Record<string, string[]>

type MxProvider = keyof typeof suffixesOf | 'other'

const providerBySuffix = new Map<string, MxProvider>(
  Object.entries(suffixesOf).flatMap(([provider, suffixes]) => suffixes.map((suffix) => [suffix, provider as MxProvider] as const)),
)

/** Who runs this MX host, by the longest known suffix of its name; `other` if none is known. */
export function mxProviderOf(mxHost: string): MxProvider {
  for (let name = mxHost.toLowerCase().replace(/\.$/, ''); name !== '';) {
    const provider = providerBySuffix.get(name)
    if (provider) return provider
    const dot = name.indexOf('.')
    name = dot === -1 ? '' : name.slice(dot + 1)
  }
  return 'other'
}

/** Whose host this is, as far as its name tells: hosts of one owner treat us alike. */
export function ownerOf(mxHost: string): string {
  const provider = mxProviderOf(mxHost)
  return provider === 'other' ? organizationalDomain(mxHost) : provider
}

import { organizationalDomain } from '../../senders/sending-domain/sending-domain-name.ts'
import { programFile } from '../../platform/program.ts'

/** A row of `config/providers.json`. */
export interface ProviderRow {
  id: string
  /** The endings of its MX hosts' names, and of no machine of a customer. */
  mx: string[]
  /** Whose replies it gives, if not its own. */
  replies?: string
  /** The first digits of the replies whose words a domain that it serves can choose. */
  worded?: number[]
  /** At a time, to one host from one address. */
  connections: number
  /** Over one connection. */
  messages: number
  /** A name of `sources`. */
  from?: string
}

let bySuffix: Map<string, ProviderRow> | undefined

/** Reads the table ahead of its use: a process that has all the files open that it may have could not read it then. */
export const readProviders = (): void => void table()

const table = (): Map<string, ProviderRow> => (bySuffix ??= rowsBySuffix())

function rowsBySuffix(): Map<string, ProviderRow> {
  const file = programFile(new URL('../../../config/providers.json', import.meta.url)).toString()
  const { providers } = JSON.parse(file) as { providers: ProviderRow[] }
  return new Map(providers.flatMap((row) => row.mx.map((suffix) => [suffix, row] as const)))
}

/** Whether there is a provider with this id. */
export const isProvider = (id: string): boolean => [...table().values()].some((row) => row.id === id)

/**
 * Who runs this MX host, by the longest known suffix of its name. A filter in front of a mailbox is the provider, because it accepts or
 * refuses the mail.
 */
export function providerOf(mxHost: string): ProviderRow | undefined {
  const rows = table()
  for (let name = mxHost.toLowerCase().replace(/\.$/, ''); name !== '';) {
    const provider = rows.get(name)
    if (provider) return provider
    const dot = name.indexOf('.')
    name = dot === -1 ? '' : name.slice(dot + 1)
  }
  return undefined
}

/** Whose replies this MX host gives; `other` if nobody is known. */
export function mxProviderOf(mxHost: string): string {
  const provider = providerOf(mxHost)
  return provider ? (provider.replies ?? provider.id) : 'other'
}

/** Whose host this is, as far as its name tells: hosts of one owner treat us alike. */
export function ownerOf(mxHost: string): string {
  const provider = mxProviderOf(mxHost)
  return provider === 'other' ? organizationalDomain(mxHost) : provider
}

import { createContext, type ComponentChildren } from 'preact'
import { useContext, useEffect, useMemo, useRef } from 'preact/hooks'
import type { ApiError } from '../api/client.ts'
import { t } from '../texts/texts.ts'
import { Fault, Refusal } from './answer.tsx'

interface Refused {
  error: ApiError
  /** What to say instead of the API's words, by the names of its errors. */
  words: Record<string, string>
  /** The field that is at fault where the API names none, such as the name that is taken. */
  main: string | undefined
  /** Names of fields that show what is wrong with them. */
  shown: Set<string>
}

const RefusedContext = createContext<Refused | null>(null)

interface RefusedFrame extends Partial<Pick<Refused, 'words' | 'main'>> {
  error: ApiError | null
  children: ComponentChildren
}

/** Fields, each with what the API says is wrong with it; what belongs to none of them stands below. */
export function WithRefusal({ error, words = {}, main, children }: RefusedFrame) {
  const refused = useMemo(() => error && { error, words, main, shown: new Set<string>() }, [error])
  return (
    <RefusedContext.Provider value={refused}>
      {children}
      {refused && <Rest of={refused} />}
    </RefusedContext.Provider>
  )
}

/** Gives the first field that is at fault the focus. */
export function useFaultFocus<T extends HTMLElement>(error: ApiError | null) {
  const form = useRef<T>(null)
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])
  return form
}

/** Refusals about what was entered, unlike those about who asks, how often, or a server that is away. */
const aboutInput = new Set([400, 404, 409, 422])

/** What is wrong with the field of this name in the API; it is shown there and nowhere else. */
export function useFault(name: string | undefined): string | null {
  const refused = useContext(RefusedContext)
  if (!refused || name === undefined) return null
  const { error, words, main, shown } = refused
  const own = error.faults.filter(({ field }) => isWithin(field, name))
  const isMain = name === main && error.faults.length === 0 && (aboutInput.has(error.status) || error.code === 'invalid_credentials')
  if (own.length === 0 && !isMain) return null
  shown.add(name)
  return isMain ? (words[error.code] ?? error.message) : own.map(({ message }) => atField(message)).join(' ')
}

const isWithin = (field: string, name: string): boolean => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`)

/** The place says which field it is. */
const atField = (message: string): string => message.replace(/^The `[^`]+` field is invalid\. /, '')

/** Drawn after the fields, so that it knows what they show. */
function Rest({ of: { error, words, shown } }: { of: Refused }) {
  const names = [...shown]
  const isTold = names.length > 0 && error.faults.every(({ field }) => names.some((name) => isWithin(field, name)))
  if (isTold) return null
  const word = error.status === 0 ? t.offline : words[error.code]
  return word === undefined ? <Refusal error={error} /> : <Fault text={word} />
}

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
  /** The fields that show what is wrong with them, by name: their ids. */
  shown: Map<string, string>
}

const RefusedContext = createContext<Refused | null>(null)

interface RefusedFrame {
  words?: Refused['words'] | undefined
  main?: Refused['main']
  error: ApiError | null
  children: ComponentChildren
}

/**
 * Fields, each with what the API says is wrong with it; the first of them gets the focus. What belongs to none of them stands below, where
 * it is seen.
 */
export function WithRefusal({ error, words = {}, main, children }: RefusedFrame) {
  const refused = useMemo(() => error && { error, words, main, shown: new Map<string, string>() }, [error])
  useEffect(() => {
    const [id] = refused?.shown.values() ?? []
    if (id !== undefined) document.getElementById(id)?.focus()
  }, [refused])
  return (
    <RefusedContext.Provider value={refused}>
      {children}
      {refused && <Rest of={refused} />}
    </RefusedContext.Provider>
  )
}

/** Refusals about what was entered, unlike those about who asks, how often, or a server that is away. */
const aboutInput = new Set([400, 404, 409, 422])

/** Whether an error is about this field; `main` is the one where it names none. */
export const isAbout = (error: ApiError, name: string, main?: string): boolean =>
  error.faults.some(({ field }) => isWithin(field, name)) || (name === main && isAboutMain(error))

const isAboutMain = ({ faults, status, code }: ApiError): boolean =>
  faults.length === 0 && (aboutInput.has(status) || code === 'invalid_credentials')

/** What is wrong with the field of this name in the API, which has this id; it is shown there and nowhere else. */
export function useFault(name: string | null, id: string): string | null {
  const refused = useContext(RefusedContext)
  if (!refused || name === null || !isAbout(refused.error, name, refused.main)) return null
  const { error, words, shown } = refused
  shown.set(name, id)
  const own = error.faults.filter(({ field }) => isWithin(field, name))
  return own.length === 0 ? (words[error.code] ?? error.message) : own.map(({ message }) => atField(message)).join(' ')
}

const isWithin = (field: string, name: string): boolean => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`)

/** The place says which field it is. */
const atField = (message: string): string => message.replace(/^The `[^`]+` field is invalid\. /, '')

/** Drawn after the fields, so that it knows what they show. */
function Rest({ of: { error, words, shown } }: { of: Refused }) {
  const names = [...shown.keys()]
  const isTold = names.length > 0 && error.faults.every(({ field }) => names.some((name) => isWithin(field, name)))
  if (isTold) return null
  const word = error.status === 0 ? t.offline : words[error.code]
  return <Seen>{word === undefined ? <Refusal error={error} /> : <Fault text={word} />}</Seen>
}

/** Scrolls to what it holds. */
function Seen({ children }: { children: ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => place.current?.scrollIntoView({ block: 'nearest' }), [])
  return <div ref={place}>{children}</div>
}

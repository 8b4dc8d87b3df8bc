import { useState } from 'preact/hooks';
import type { ServerMessage, ViewerMessage } from '../../../contract/live.ts';
import type { Painter } from './painter.ts';

type PickerMessage = Extract<ServerMessage, { t: 'picker' }>;

interface PickerProps {
  picker: PickerMessage;
  pictures: Painter;
  send: (message: ViewerMessage) => void;
}

/** Rows of a list that are seen at once. */
const ROWS_MAX = 8;

/** The list or picker of a field that the picture lacks, below its field. A choice here is set in the page. */
export function Picker({ picker: { tab, field }, pictures, send }: PickerProps) {
  const { kind } = field;
  const size = pictures.shown();
  if (size === undefined) return null;
  const place = {
    left: `${(Math.max(0, field.x) / size.cssWidth) * 100}%`,
    top: `${(Math.max(0, field.y + field.height) / size.cssHeight) * 100}%`,
  };
  return (
    <div class="picker" style={place}>
      {kind === 'select' ? <Options {...{ tab, field, send }} /> : <Value {...{ tab, kind, field, send }} />}
    </div>
  );
}

type FieldProps = Pick<PickerProps, 'send'> & Pick<PickerMessage, 'tab' | 'field'>;
type ValueKind = keyof typeof LABELS;

function Options({ tab, field: { options, multiple }, send }: FieldProps) {
  return (
    <select
      aria-label="Options of the page's list"
      multiple={multiple}
      size={Math.max(2, Math.min(ROWS_MAX, options.length))}
      onChange={event => {
        const chosen = [...event.currentTarget.selectedOptions].map(({ index }) => index);
        send({ t: 'pick', tab, options: chosen });
      }}
    >
      {options.map(({ label, selected, disabled }, at) => (
        <option key={at} selected={selected} disabled={disabled}>
          {label}
        </option>
      ))}
    </select>
  );
}

function Value({ tab, kind, field, send }: FieldProps & { kind: ValueKind }) {
  const { min, max, step } = field;
  // not by an effect: it runs some time after the field is shown, and would undo a choice that was faster
  const [choice, setChoice] = useState({ field, value: field.value });
  const chosen = choice.field === field ? choice.value : field.value;
  return (
    <form
      class="actions"
      onSubmit={event => {
        event.preventDefault();
        send({ t: 'pick', tab, value: chosen });
      }}
    >
      <label>
        {LABELS[kind]}
        <input
          type={kind}
          value={chosen}
          min={min || undefined}
          max={max || undefined}
          step={step || undefined}
          onInput={event => setChoice({ field, value: event.currentTarget.value })}
        />
      </label>
      <button type="submit">Set</button>
    </form>
  );
}

const LABELS = {
  date: 'Date',
  time: 'Time',
  'datetime-local': 'Date and time',
  month: 'Month',
  week: 'Week',
  color: 'Colour',
} as const;

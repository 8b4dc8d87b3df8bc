/** Arguments of ffmpeg that write every picture of its input to standard output, through this filter: three bytes a pixel, red, green and blue. */
export const rawPictures = (filter: string): string[] => [
  ...['-vf', filter, '-fps_mode', 'passthrough'],
  ...['-f', 'rawvideo', '-pix_fmt', 'rgb24', 'pipe:1'],
];

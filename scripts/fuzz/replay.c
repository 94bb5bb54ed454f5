/* Runs a target over the files named, as libFuzzer does, for compilers that have none. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        long size = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
        uint8_t *data = size >= 0 ? malloc((size_t)size + 1) : NULL;
        if (!data || fseek(file, 0, SEEK_SET) || fread(data, 1, (size_t)size, file) != (size_t)size) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
        LLVMFuzzerTestOneInput(data, (size_t)size);
        fclose(file);
        free(data);
    }
    return 0;
}
